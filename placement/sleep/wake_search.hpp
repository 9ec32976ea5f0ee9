// wake_search: the wakes of a sleep plan: for pods that fit on no awake node, for demand, and for nodes that must not
// sleep.
// Order    nodes that are only marked first, because they are awake; then sleepers by `order`; then nodes that are
//          still falling asleep
// Errors   none
// Threads  pure function
#pragma once

#include "placement/sleep/plan_state.hpp"

namespace wattle::placement::sleep {

// Adds wakes and unplaceable pods to the plan, and makes the woken nodes available in `state`.
void search_wakes(PlanState& state, SleepPlan& plan);

}  // namespace wattle::placement::sleep
