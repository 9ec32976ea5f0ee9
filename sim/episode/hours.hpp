// hours: an episode on the kernel, hour by hour: what each node drew, where pods went, and the curves as they are known at its end.
// Errors   none: a pod that no node is named for, or that does not fit there, is not placed
// Threads  single owner
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "sim/episode/told_cluster.hpp"

namespace wattle::sim::consolidation {

struct PlayedHours {
  std::vector<std::vector<double>> node_j;                              // [whole hour][node]
  std::vector<std::size_t> node_of;                                     // by pod; Cluster::kNowhere
  std::vector<std::array<double, placement::kCurvePoints>> told_watts;  // by node
};
using Where = std::function<std::optional<std::size_t>(Cluster& cluster, std::size_t pod)>;
PlayedHours play_hours(const Episode& episode, const Where& where);

}  // namespace wattle::sim::consolidation
