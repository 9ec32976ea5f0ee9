// vpa: what the Vertical Pod Autoscaler's recommender would request of CPU.
// Source   recommender/util/histogram.go and its defaults: buckets of 0.01 cores growing by 5 %, half-life of 24 h, p90 times 1.15, at
//          least 25 m; a sample a minute weighs what is requested, 0.1 at least; a change below 10 % is not made
// Units    cores, seconds
// Errors   none
// Threads  values
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>

#include "common/stats/decayed_histogram.hpp"

namespace wattle::sim::provision {

inline constexpr double kVpaRatio = 1.15;

class Vpa {
 public:
  explicit Vpa(double ratio = kVpaRatio) : ratio_(ratio) {}
  // The mean of a minute that ends at `now_s`, and what was requested in it. Absent: that stays.
  std::optional<double> minute(double cores, double requested, double now_s) {
    histogram_.add(cores, std::max(0.1, requested), now_s);
    const double wanted = std::max(0.025, histogram_.quantile(0.9) * ratio_);
    if (std::abs(wanted - requested) < 0.1 * requested) return std::nullopt;
    return wanted;
  }

 private:
  double ratio_;
  stats::DecayedHistogram histogram_;  // its defaults are VPA's
};

}  // namespace wattle::sim::provision
