#include "placement/cluster/view_fleet.hpp"

#include "placement/cluster/sane_view.hpp"

namespace wattle::placement {

void fill_node(FleetNode& out, const NodeView& node, bool has_room) {
  out.requested = sane(Resources{node.requested.cpu_cores + node.in_flight_request.cpu_cores,
                                 node.requested.memory_bytes + node.in_flight_request.memory_bytes});
  out.pods = node.pods + node.in_flight;
  out.pod_capacity = node.pod_capacity;
  out.allocatable = size_of(node);
  if (!has_room) {
    out.pod_capacity = out.pods;
    out.allocatable = {};
  }
}

Fleet fleet_of(const ClusterView& view) {
  Fleet fleet;
  fleet.pods_stay = false;
  fleet.nodes.resize(view.nodes.size());
  for (std::size_t i = 0; i < view.nodes.size(); ++i) {
    const NodeView& node = view.nodes[i];
    FleetNode& out = fleet.nodes[i];
    fill_node(out, node, true);
    out.used_cores = sane(expected_cpu_cores(node), kMostCores);
    out.watts = node.curve.points();
    out.curve_error_w = node.curve.residual_sd_w();
    out.sleeps = node.asleep;
    out.wake_j = node.asleep ? sane(node.wake_cost_j, kMostJoules) : 0;
    fleet.idle_nodes_sleep = fleet.idle_nodes_sleep || node.asleep;
  }
  return fleet;
}

PodEstimate ask_of(const PodSpec& pod) { return {sane(pod.request), sane(demand_cores(pod), kMostCores), kHour_s}; }

}  // namespace wattle::placement
