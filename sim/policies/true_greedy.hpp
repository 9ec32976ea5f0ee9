// true_greedy: chooses the node to which the pod adds the fewest watts in truth, by the real curves and the real demand
// of all pods including its own, plus the waiting that it causes, at a price. A reference: it takes the world itself,
// which no policy of placement/decide/policies gets.
// Errors   none; no value if no node is feasible
// Threads  pure except for the generator
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "sim/world/world.hpp"

namespace wattle::sim {

// Assumes that a woken node stays awake for an hour. `wait_price_w`: price of a pod that waits for CPU all the time.
std::optional<std::size_t> least_true_watts(const World& world, const SimPod& pod,
                                            std::span<const std::size_t> feasible, double wait_price_w = 0);

}  // namespace wattle::sim
