// to_come: widens the interval of a mean over past time to that of the mean over the coming day.
// Rule     the coming mean varies independently of the past one, and its variance falls with the length of its time.
//          The variance of the difference is therefore that of the past mean, times 1 + past time / coming time
// Length   the coming time is a day, or as long as the past if that is shorter
// Errors   none; an unknown range stays unknown
// Threads  pure function
#pragma once

#include <algorithm>
#include <cmath>

#include "common/stats/interval.hpp"

namespace wattle::stats {

inline Interval to_come(const Interval& past, double past_s) {
  constexpr double kDay_s = 86'400;
  const double times = std::sqrt(1 + std::max(1.0, past_s / kDay_s));
  const auto widened = [&](double bound) { return past.mean + times * (bound - past.mean); };
  return {past.mean, widened(past.low), widened(past.high)};
}

}  // namespace wattle::stats
