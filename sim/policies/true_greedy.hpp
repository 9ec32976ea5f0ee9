// true_greedy: the node to which the pod really adds the fewest watts, by the real curves and real demand of all that run, its own
// included; and what it makes pods wait, at a price. A reference for judges: it takes the world itself, which no policy of placement/policies is ever given.
// Errors   none; absent when no node is feasible
// Threads  pure but for the generator
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "sim/world/world.hpp"

namespace wattle::sim {

// An hour is how long a woken node is reckoned to stay awake. `wait_price_w`: of a pod that waits for CPU all the time.
std::optional<std::size_t> least_true_watts(const World& world, const SimPod& pod,
                                            std::span<const std::size_t> feasible, double wait_price_w = 0);

}  // namespace wattle::sim
