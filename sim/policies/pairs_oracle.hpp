// pairs_oracle: the planner's choice, corrected by which applications really disturb each other on their machines (sim/cluster/pairs): a
// reference for judges of what there is to gain by knowing it. It takes the world itself, which no policy of placement/policies is given.
// Cost     the planner's, and several times the watts of what would live longer: of the pod itself where it would be disturbed, and of pods
//          there that nobody disturbs yet. It looks at what runs now, not at who comes next, so that an optimum may be lower
// Errors   none; absent when no node is feasible
// Threads  pure
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "sim/world/world.hpp"

namespace wattle::sim {

// Work that pods there get done no more if this one comes, its own among it, in cores: what they want times what takes longer. Who is
// disturbed already loses no more.
double lost_cores(const World& world, const SimPod& pod, std::size_t node);
// Watts by which pods there, this one among them, would live longer for it: each one's share of its machine's by what it wants.
double disturbed_w(const World& world, const SimPod& pod, std::size_t node);
// `values`: the planner's of each node, negative watts (placement/policies).
std::optional<std::size_t> least_disturbing(const World& world, const SimPod& pod,
                                            std::span<const std::size_t> feasible, std::span<const double> values);

}  // namespace wattle::sim
