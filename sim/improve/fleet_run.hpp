// fleet_run: plays a whole episode on the kernel (sim/improve/told_cluster), each pod on the node that a policy or a
// function chooses.
// Errors   none
// Threads  single owner; the same episode and choices give the same figures
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "placement/decide/policies/policy.hpp"
#include "sim/improve/told_cluster.hpp"

namespace wattle::sim::consolidation {

// Returns the node of a pod; no value: the pod is refused.
using Where = std::function<std::optional<std::size_t>(Cluster& cluster, std::size_t pod)>;

// Over the judged part of the episode.
struct FleetRun {
  double energy_j = 0, awake_nodes = 0, wakes = 0, wake_wait_s = 0;
  double waiting = 0;  // share of pod time spent waiting for nodes to wake
  std::size_t placements = 0;
  std::uint64_t refused = 0;
  std::vector<double> node_energy_j;
  std::vector<std::size_t> node_of;  // by pod, at the end; Cluster::kNowhere
};
FleetRun play_fleet(const Episode& episode, const Where& where);
FleetRun play_fleet(const Episode& episode, placement::Policy& policy);

}  // namespace wattle::sim::consolidation
