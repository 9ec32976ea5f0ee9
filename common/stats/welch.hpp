// welch: difference of two means with unequal variances, with its interval (Welch 1947).
// Errors   none; no value for fewer than two values on either side
// Threads  pure functions
#pragma once

#include <optional>

#include "common/stats/interval.hpp"
#include "common/stats/moments.hpp"

namespace wattle::stats {

// Degrees of freedom (Satterthwaite 1946); needs at least two values each. Constant values use those of the pooled
// test.
double welch_freedom(const Moments& a, const Moments& b);

// Interval of a's mean minus b's.
std::optional<Interval> welch_difference(const Moments& a, const Moments& b);

}  // namespace wattle::stats
