// hours: an episode on the kernel, hour by hour: each node's energy, and the pods' nodes.
// Errors   none: a pod is not placed if no node is chosen or it does not fit there
// Threads  single owner
#pragma once

#include <cstddef>
#include <vector>

#include "sim/improve/fleet_run.hpp"

namespace wattle::sim::consolidation {

struct PlayedHours {
  std::vector<std::vector<double>> node_j;  // [whole hour][node]
  std::vector<std::size_t> node_of;         // by pod; Cluster::kNowhere
};
PlayedHours play_hours(const Episode& episode, const Where& where);

}  // namespace wattle::sim::consolidation
