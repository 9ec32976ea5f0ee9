// student_trial: the trial of a student that sets a workload's margin (common/stats/network_trial), minute by minute.
// Input    the share of throttled periods in each minute in which the network set the margin; it may be at most
//          `most_ratio` on average
// Method   a fixed stake, a quarter of the largest that cannot lose everything in one minute. A student that stays
//          within the limit is withdrawn within n minutes with probability at most n / 10^6: 1% per week
// Units    shares
// Threads  pure
#pragma once

#include <algorithm>

#include "common/stats/network_trial.hpp"

namespace wattle::actuator {

// Scale that keeps differences within -1..1.
inline double throttled_unit(double most_ratio) { return std::max(most_ratio, 1 - most_ratio); }

inline double throttled_difference(double throttled_ratio, double most_ratio) {
  return (throttled_ratio - most_ratio) / throttled_unit(most_ratio);
}

inline stats::NetworkTrial student_trial(double most_ratio) {
  const double stake = 0.25 * throttled_unit(most_ratio) / most_ratio;
  return stats::NetworkTrial({.run_blocks = 1e6, .least_stake = stake, .largest_stake = stake, .memory_blocks = 60});
}

}  // namespace wattle::actuator
