// share: an observed share with its 95% interval, from independent trials.
// Source   Wilson 1927, the score interval
// Errors   none; no trials give a share of 0 within [0, 1]
// Threads  pure functions
#pragma once

#include <cmath>
#include <cstddef>

#include "common/stats/distributions.hpp"
#include "common/stats/interval.hpp"

namespace wattle::stats {

inline Interval share_interval(std::size_t held, std::size_t trials) {
  if (trials == 0) return {0, 0, 1};
  const auto n = static_cast<double>(trials);
  const double share = static_cast<double>(held) / n, square = kNormal975 * kNormal975 / n;
  const double middle = (share + square / 2) / (1 + square);
  const double reach = std::sqrt(share * (1 - share) * square + square * square / 4) / (1 + square);
  return {share, middle - reach, middle + reach};
}

}  // namespace wattle::stats
