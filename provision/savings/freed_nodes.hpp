// freed_nodes: the nodes that right-sized requests and fewer replicas free in a fleet, separately and together.
// Method   the fleet is packed (provision/savings/emptying) without and with the changes; a change frees the
//          difference. Nodes that packing would empty anyway are not counted. Where requests only become smaller, the
//          packing of the unchanged fleet stays valid, so a change never frees fewer than zero nodes
// Rank     changes are ranked by the capacity that they free, and the largest are also packed one after the other. Each
//          packing costs a pass over the pods, so that more pods mean fewer ranked ones: kMostRanked at most
// Sleep    a node that becomes empty saves its idle watts minus kAsleepW, if it is powered down
// Units    cores, bytes, watts
// Errors   none
// Threads  single owner
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "provision/savings/emptying.hpp"

namespace wattle::placement {

inline constexpr double kAsleepW = 3;  // of a suspended server
inline constexpr std::size_t kMostRanked = 16, kMostPackedPods = 100'000;

struct SavingsPod {
  static constexpr std::size_t kNoChange = std::numeric_limits<std::size_t>::max();
  std::size_t node = 0;
  Resources now, right;
  std::size_t change = kNoChange;        // index of the workload whose requests change
  bool spare = false;                    // would not exist with fewer replicas
  std::optional<Resources> hourly = {};  // the rule's request now, if `right` lasts for days
};

struct NodesFreed {
  std::size_t nodes = 0;
  double saved_w = 0;
};

class FreedNodes {
 public:
  // `changes`: number of workloads whose requests change.
  FreedNodes(std::vector<PackedNode> nodes, std::vector<SavingsPod> pods, std::size_t changes);
  FreedNodes(const FreedNodes&) = delete;  // its jobs refer to it
  FreedNodes& operator=(const FreedNodes&) = delete;

  // Does a part of the work. Returns true while work remains; the results are complete once it returns false.
  bool step();

  NodesFreed empty() const { return empty_; }  // now
  NodesFreed requests() const { return requests_; }
  NodesFreed replicas() const { return replicas_; }
  NodesFreed both() const { return both_; }
  // Other models of the same savings: the share of its node that each pod gives up, at the node's idle watts. For
  // requests also with those of the rule now.
  std::vector<double> requests_by_share_w() const;
  std::vector<double> replicas_by_share_w() const;
  // Changes, those that free most capacity first.
  const std::vector<std::size_t>& ranked() const { return ranked_; }
  // Number of nodes that the first i + 1 changes in that order free, for each i that was packed.
  const std::vector<std::size_t>& freed_after() const { return freed_after_; }

 private:
  struct Job {
    std::size_t changes = 0;  // of ranked_
    bool fewer = false;       // without spare pods
    std::function<void(NodesFreed)> give;
  };
  void rank();
  std::unique_ptr<Emptying> packing(const Job& job) const;
  NodesFreed sum_of(const std::vector<std::size_t>& nodes) const;
  double share_w(const SavingsPod& pod, const Resources& request) const;

  std::vector<PackedNode> nodes_;
  std::vector<SavingsPod> pods_;
  std::size_t changes_;
  std::vector<std::size_t> ranked_, rank_of_;
  bool grows_ = false;  // some request becomes larger
  std::vector<Job> jobs_;
  std::size_t job_ = 0;
  std::unique_ptr<Emptying> running_;
  NodesFreed packed_, empty_, requests_, replicas_, both_;
  std::vector<std::size_t> freed_after_;
};

}  // namespace wattle::placement
