// hours: an episode on the kernel, hour by hour: each node's energy, the pods' nodes, and the curves known at its end.
// Errors   none: a pod is not placed if no node is chosen or it does not fit there
// Threads  single owner
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "sim/improve/fleet_run.hpp"

namespace wattle::sim::consolidation {

struct PlayedHours {
  std::vector<std::vector<double>> node_j;                                  // [whole hour][node]
  std::vector<std::size_t> node_of;                                         // by pod; Cluster::kNowhere
  std::vector<std::array<double, placement::kCurvePoints>> reported_watts;  // by node
};
PlayedHours play_hours(const Episode& episode, const Where& where);

}  // namespace wattle::sim::consolidation
