// vpa: the CPU request that the Vertical Pod Autoscaler's recommender would set.
// Source   recommender/util/histogram.go and its defaults: buckets of 0.01 cores growing by 5 %, half-life of 24 h, p90
//          times 1.15, at least 25 m. A sample per minute has the weight of the request, at least 0.1; changes below 10
//          % are skipped
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
  // Takes the mean usage and the request of a minute that ends at `now_s`. No value: the request stays.
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
