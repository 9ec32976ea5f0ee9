// known_node: the cluster model's state of one node, with a part for each modelled quantity.
// Units    in names
// Errors   none
// Threads  values
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "placement/cluster/fleet.hpp"
#include "placement/cluster/waiting.hpp"

namespace wattle::placement {

// Expected usage of a pod: its mean, and its variance over time and from the uncertainty of the mean.
struct ExpectedUse {
  double cores = 0, cores2 = 0, uncertain_cores = 0;
};

// Sums over the pods of a node.
struct PodSums {
  double cores = 0;            // expected mean usage
  double cores2 = 0;           // variance of the expected usage
  double uncertain_cores = 0;  // uncertainty of the means
  double last_cores = 0;       // latest usage
  double leaving_cores = 0;    // latest usage of pods that are being deleted; no other value contains them
  double life_s = 0;           // expected lifetimes
  std::uint64_t pods = 0, leaving = 0;
};

// Usage of a node that belongs to none of its pods.
struct OtherUse {
  double cores = 0, cores2 = 0;  // mean and variance
  bool sampled = false;
};

struct NodeWaiting {
  WaitingModel model;
  double last_load = -1, last_wait = -1;  // from the last reading
};

// Pods by (latency target, soft limit), so that counting late time takes one lookup per kind.
using LimitedPods = std::map<std::pair<std::string, double>, std::uint64_t>;

struct KnownNode {
  static constexpr std::size_t kNoRow = static_cast<std::size_t>(-1);
  PodSums sums;
  LimitedPods limited;
  AppsThere apps;
  OtherUse other;
  NodeWaiting waiting;
  double half_load_w = 0;    // as in FleetNode
  std::size_t row = kNoRow;  // in the view of the last refresh
};

// Nodes by name; entries have stable addresses.
using KnownNodes = std::unordered_map<std::string, KnownNode>;

// Rows of nodes whose pods changed since the fleet's rows were filled. Bounded: when full, all rows count as changed.
class ChangedRows {
 public:
  void note(const KnownNode& node) {
    if (node.row != KnownNode::kNoRow && !full()) rows_.push_back(node.row);
  }
  void reset(std::size_t limit) {
    rows_.clear();
    limit_ = limit;
  }
  bool full() const { return rows_.size() >= limit_; }
  const std::vector<std::size_t>& rows() const { return rows_; }

 private:
  std::vector<std::size_t> rows_;
  std::size_t limit_ = 0;
};

}  // namespace wattle::placement
