// futures: draws alternative futures after a decision, so that a choice is not judged by chance events.
// Kept     the past, the fleet, the day and the applications' properties: pods are drawn from those of the episode
//          itself
// Redrawn  which pods come from then on and when; the remaining lives of running pods, because lives are memoryless;
//          the pod's own usage and life; bursts and noise. With true knowledge the lives of present pods are known, and
//          stay
// Threads  pure function; the same episode, pod and number give the same future
#pragma once

#include <cstddef>

#include "sim/scenarios/consolidation.hpp"

namespace wattle::sim::consolidation {

// For an episode with churn whose pods are placed on arrival. `number` 0: the episode's own future.
Episode another_future(const Episode& episode, std::size_t pod, std::size_t number);

}  // namespace wattle::sim::consolidation
