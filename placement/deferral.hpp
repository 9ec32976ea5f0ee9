// deferral: whether a pod had better wait than be placed now, by one who may let it wait. Nobody is made to: without permission there is none.
// Waits    1. for room, where no node can take it now and one could if pods that run there ended (or it came back, or was woken);
//          2. for room on a node that is awake, where the best choice would wake one;
//          3. for pods to end, where every node that can take it would have its tenants wait beyond the budget
// Cost     2 and 3 only where it is expected to cost less: joules now against joules then and what its waiting is worth, at the price of
//          waiting, and never below what the cores that it will use draw at the node's peak
// When     lives are taken as exponential, each node's mean life from when its last pod is expected to end: of n pods the m-th ends after
//          life x (1/n + ... + 1/(n-m+1)). Where pods stay, or nobody knows when they end, only 1 is left, and it is asked again each kAsk_s
//          It is asked again after ten seconds at the latest: an end may come sooner than expected
// Bound    what is expected later than the permission lasts is no reason to wait
// Errors   none
// Threads  pure
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "placement/cluster_view.hpp"
#include "placement/fleet.hpp"

namespace wattle::placement {

struct Deferral {
  double again_s = 0;  // when to ask again; never beyond the permission
  std::string why;     // for people
  double saves_j = 0;  // expected, what its waiting is worth taken off; 0 where it is room that it waits for
};

struct DeferQuestion {
  const ClusterView& view;
  const Fleet& fleet;
  std::span<const std::size_t> rows;         // indices into the nodes of both
  std::span<const std::string_view> masked;  // of each row; empty: it can take the pod
  std::optional<std::size_t> best;           // the row that would be named; absent: none can take it
  const PodSpec& pod;
  const PodEstimate& ask;
  double wait_limit = std::numeric_limits<double>::infinity();  // share of pods' time; none by default
  double permitted_s = 0;
};

// Absent: it is placed now, or nowhere.
std::optional<Deferral> deferral(const DeferQuestion& question);

// Until so many of the node's pods have ended, in seconds; absent: it has not so many, or nobody knows.
std::optional<double> ends_in_s(const Fleet& fleet, std::size_t node, std::size_t pods);

}  // namespace wattle::placement
