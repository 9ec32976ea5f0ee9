// deferral: decides whether a pod should wait instead of being placed now. Only pods with permission to wait are
// deferred.
// Waits    1. for room, if no node can take the pod now and one could after running pods end (or after the node returns
//          or wakes);
//          2. for room on an awake node, if the best choice would wake a node;
//          3. for pods to end, if every node that can take the pod would make its tenants wait beyond the budget
// Cost     2 and 3 only if waiting is expected to cost less. Compares the energy now with the energy later plus the
//          value of the waiting: the price of waiting, and at least the power that the pod's cores draw at the node's
//          peak
// Timing   lifetimes count as exponential. Each node's mean lifetime follows from the expected end of its last pod: of
//          n pods the m-th ends after life x (1/n + ... + 1/(n-m+1)). Where pods stay, or their ends are unknown, only
//          1 applies, and the pod is reconsidered every kAsk_s. It is reconsidered after ten seconds at the latest,
//          because an end may come sooner than expected
// Bound    a pod does not wait for an event that is expected after its permission ends
// Errors   none
// Threads  pure
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "placement/cluster/cluster_view.hpp"
#include "placement/cluster/fleet.hpp"

namespace wattle::placement {

struct Deferral {
  double again_s = 0;  // time until the pod is reconsidered; never beyond the permission
  std::string why;     // for people
  double saves_j = 0;  // expected saving, minus the value of the waiting; 0 if it waits for room
};

struct DeferQuestion {
  const ClusterView& view;
  const Fleet& fleet;
  std::span<const std::size_t> rows;         // indices into the nodes of both
  std::span<const std::string_view> masked;  // one per row; empty: the node can take the pod
  std::optional<std::size_t> best;           // the best row; unset if no node can take the pod
  const PodSpec& pod;
  const PodEstimate& ask;
  double wait_limit = std::numeric_limits<double>::infinity();  // share of pods' time; no limit by default
  double permitted_s = 0;
};

// No value if the pod is placed now, or cannot be placed.
std::optional<Deferral> deferral(const DeferQuestion& question);

// Returns the time until that many of the node's pods have ended. No value if it has fewer pods or their ends are
// unknown.
std::optional<double> ends_in_s(const Fleet& fleet, std::size_t node, std::size_t pods);

}  // namespace wattle::placement
