// node_facts: the values of a node that do not depend on the pod: features, watts and sizes, side by side in memory. A
// thousand whole views do not fit a processor's cache, and most of their features depend on no pod.
// Cached   by edition for a view that reports its changes (ClusterView); computed for each call otherwise
// Units    in names
// Errors   none: values are finite, or as in the view
// Threads  single owner
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "models/frozen/q_network.hpp"
#include "placement/cluster/cluster_view.hpp"
#include "placement/cluster/power_curve.hpp"

namespace wattle::placement {

struct NodeFacts {
  std::array<float, models::kNodeFeatures> features{};  // columns that depend on the pod or on other nodes are 0
  std::array<double, kCurvePoints> watts{};
  double half_w = 0;                          // at half load
  double slope_beyond_w = 0;                  // beyond full load
  double expected_ratio = 0, expected_w = 0;  // utilisation that is expected without the pod, and its watts
  double per_core = 0;                        // utilisation of one core
  double curve_slope_w = 0;                   // watts of all cores at the slope of the expected load
  double cores = 0;                           // 0: unknown
  Resources allocatable;                      // as in the view
  double pod_capacity = 0;
  double requested_cores = 0, capacity_cores = 0, memory_bytes = 0;  // limited, for sums over nodes
  double tcp_established = 0;
  double latency_ms = 0;  // to the default target; NaN: unknown
  double wake_cost_j = 0;
  bool wakes = false;  // the pod would wake the node

  // Watts that this many cores add.
  double marginal_w(double demand_cores) const;
  double idle_w() const { return watts.front(); }
};

NodeFacts node_facts(const NodeView& node);

class FactsOfNodes {
 public:
  // Brings the facts of these nodes up to date. `reported`: the view is always the same object, and its editions count.
  void look(const ClusterView& view, std::span<const std::size_t> nodes, bool reported);
  // Requires that the last look() had the node.
  const NodeFacts& operator[](std::size_t node) const { return facts_[node]; }

 private:
  static constexpr std::uint64_t kNever = static_cast<std::uint64_t>(-1);
  std::vector<NodeFacts> facts_;
  std::vector<std::uint64_t> edition_of_;  // kNever: not cached
  const ClusterView* view_ = nullptr;      // that the editions belong to; never read
};

}  // namespace wattle::placement
