// drain_search: finds the node that a sleep plan empties, with a target for each of its pods.
// Order    the last in the order of nodes is simulated first, at most kTriedDrains
// Errors   none
// Threads  pure function
#pragma once

#include <optional>
#include <vector>

#include "placement/sleep/plan_state.hpp"

namespace wattle::placement::sleep {

inline constexpr std::size_t kTriedDrains = 8;

// `rows`: awake nodes with pods that no rule excludes. Adds the reasons of those that are not drained to `kept`. On
// success `state` has the pods on their targets.
std::optional<SleepChoice> search_drain(PlanState& state, std::vector<std::size_t> rows, std::vector<KeptAwake>& kept);

}  // namespace wattle::placement::sleep
