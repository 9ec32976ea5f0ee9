// pairs_oracle: the planner's choice, corrected by the applications that really disturb each other (sim/cluster/pairs).
// A reference for the possible gain of knowing them. It takes the world itself, which no policy of placement/policies
// gets.
// Cost     the planner's, plus several times the watts of the pods that would live longer: of the pod itself if it
//          would be disturbed, and of pods there that are not disturbed yet. It considers running pods only, not the
//          next ones, so that an optimum may be lower
// Errors   none; no value if no node is feasible
// Threads  pure
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "sim/world/world.hpp"

namespace wattle::sim {

// Returns the work in cores that pods there, including this one, lose if it comes: the wanted cores times the slowdown.
// A pod that is disturbed already loses no more.
double lost_cores(const World& world, const SimPod& pod, std::size_t node);
// Returns the watts of the pods there, including this one, weighted by their longer lives: each pod has its share of
// the machine's watts by its wanted cores.
double disturbed_w(const World& world, const SimPod& pod, std::size_t node);
// `values`: the planner's value of each node, negative watts (placement/policies).
std::optional<std::size_t> least_disturbing(const World& world, const SimPod& pod,
                                            std::span<const std::size_t> feasible, std::span<const double> values);

}  // namespace wattle::sim
