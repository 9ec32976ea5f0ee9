// interval: an estimate with its 95% confidence interval.
// Threads  value
#pragma once

namespace wattle::stats {

struct Interval {
  double mean = 0;
  double low = 0, high = 0;  // 95%
  bool above_zero() const { return low > 0; }
  bool below_zero() const { return high < 0; }
};

}  // namespace wattle::stats
