// futures: what may come after a decision, drawn anew, so that a choice is not judged by what happened by chance.
// Same     all until the decision, the fleet, the day, and what applications are like: pods are drawn from those of the episode itself
// Anew     who comes from then on and when; how much longer those live that run, since lives know no age; the pod's own use and life; bursts
//          and noise. With true knowledge the lives of pods that are there are told, and stay
// Threads  pure function; the same episode, pod and number give the same future
#pragma once

#include <cstddef>

#include "sim/scenarios/consolidation.hpp"

namespace wattle::sim::consolidation {

// Under churn, of an episode whose pods are placed when they come. `number` 0: the episode's own.
Episode another_future(const Episode& episode, std::size_t pod, std::size_t number);

}  // namespace wattle::sim::consolidation
