// recalled_pods: names, requests, owners and decisions of pods that ran when the controller stopped, from its store. An
// agent reports only a pod's UID, so without an API server there is no other source.
// Bounds   as many as the store returns; each is given once
// Errors   none
// Threads  single owner
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "controller/decisions/decision_log.hpp"
#include "controller/store/usage_table.hpp"
#include "placement/cluster/cluster_view.hpp"

namespace wattle::controller {

struct RecalledPod {
  placement::PodSpec spec;
  std::uint64_t decision_id = 0;  // joined by its placement; 0: none is kept
  std::string container_ids;
};

class RecalledPods {
 public:
  void add(const PodFacts& pod);
  // Call in the order of ids.
  void add(const LoggedDecision& decision);
  // Takes what is known about the pod, which is on the node. No value if nothing is.
  std::optional<RecalledPod> take(const std::string& uid, const std::string& node);
  std::size_t size() const { return pods_.size(); }

 private:
  struct Placed {
    std::string node;
    std::uint64_t id = 0;
    placement::PodSpec spec;
    bool whole = false;  // false: the row has no pod, only its names
  };
  std::unordered_map<std::string, RecalledPod> pods_;
  std::unordered_map<std::string, Placed> placed_;  // by pod UID: the newest decision whose placement was seen
};

}  // namespace wattle::controller
