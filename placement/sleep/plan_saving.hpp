// plan_saving: power that a sleep plan saves, mean over the time until its nodes are needed again, net of transitions
// and moves.
// Units    watts
// Errors   none; a choice without a gap saves 0
// Threads  pure functions
#pragma once

#include "placement/sleep/sleep_plan.hpp"

namespace wattle::placement::sleep {

inline double saved_w(const SleepChoice& choice) { return choice.gap_s > 0 ? choice.saved_j / choice.gap_s : 0; }

inline double saved_w(const SleepPlan& plan) {
  double sum_w = 0;
  for (const SleepChoice& each : plan.sleeps) sum_w += saved_w(each);
  return sum_w;
}

}  // namespace wattle::placement::sleep
