// to_come: widens the interval of a mean over past time to that of the mean over time to come.
// Rule     both means vary alike, so that their difference has twice the variance of one. Holds for a time at least as
//          long as the past
// Errors   none; an unknown range stays unknown
// Threads  pure function
#pragma once

#include <numbers>

#include "common/stats/interval.hpp"

namespace wattle::stats {

inline Interval to_come(const Interval& past) {
  const auto widened = [&](double bound) { return past.mean + std::numbers::sqrt2 * (bound - past.mean); };
  return {past.mean, widened(past.low), widened(past.high)};
}

}  // namespace wattle::stats
