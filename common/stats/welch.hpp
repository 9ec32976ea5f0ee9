// welch: the difference of two means whose variances may differ, with its interval (Welch 1947).
// Errors   none; absent below two values on either side
// Threads  pure functions
#pragma once

#include <optional>

#include "common/stats/interval.hpp"
#include "common/stats/moments.hpp"

namespace wattle::stats {

// Degrees of freedom (Satterthwaite 1946); at least two values each. Values that do not vary have those of the pooled test.
double welch_freedom(const Moments& a, const Moments& b);

// Of a's mean less b's.
std::optional<Interval> welch_difference(const Moments& a, const Moments& b);

}  // namespace wattle::stats
