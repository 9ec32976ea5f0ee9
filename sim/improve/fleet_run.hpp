// fleet_run: runs a whole episode on the kernel (sim/improve/replayed_cluster), with each pod on the node that a
// chooser or a function returns.
// Errors   none
// Threads  single owner; the same episode and choices give the same figures
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "sim/improve/fleet_chooser.hpp"
#include "sim/improve/replayed_cluster.hpp"

namespace wattle::sim::consolidation {

// Returns the node of a pod; no value: the pod is refused.
using Where = std::function<std::optional<std::size_t>(Cluster& cluster, std::size_t pod)>;

// Over the judged part of the episode.
struct FleetRun {
  double energy_j = 0;
  std::vector<double> node_energy_j;
  std::vector<std::size_t> node_of;  // by pod, at the end; Cluster::kNowhere
};
FleetRun play_fleet(const Episode& episode, const Where& where);
FleetRun play_fleet(const Episode& episode, FleetChooser& chooser);

// Hour by hour, from the episode's start. A pod that does not fit on its node is not placed.
struct PlayedHours {
  std::vector<std::vector<double>> node_j;  // [whole hour][node]
  std::vector<std::size_t> node_of;         // by pod; Cluster::kNowhere
};
PlayedHours play_hours(const Episode& episode, const Where& where);

}  // namespace wattle::sim::consolidation
