// histogram: how much of something was how large, in steps of 5 %; for percentiles of truths that are held for a time.
// Range    1e-3 .. 1e7; what is beyond counts at the edge
// Errors   none
// Threads  values
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace wattle::sim {

class Histogram {
 public:
  void add(double value, double weight) {
    const double step = value > kLeast ? std::log(value / kLeast) / std::log(kStep) : 0;
    weights_[std::min(static_cast<std::size_t>(step), kBuckets - 1)] += weight;
    total_ += weight;
  }
  double total() const { return total_; }
  // The upper edge of the step that this share of the weight does not exceed; 0 when nothing was added.
  double quantile(double share) const {
    if (total_ <= 0) return 0;
    double sum = 0;
    for (std::size_t i = 0; i < kBuckets; ++i) {
      sum += weights_[i];
      if (sum >= share * total_) return kLeast * std::pow(kStep, static_cast<double>(i + 1));
    }
    return kLeast * std::pow(kStep, static_cast<double>(kBuckets));
  }

 private:
  static constexpr double kLeast = 1e-3, kStep = 1.05;
  static constexpr std::size_t kBuckets = 473;  // log(1e10) / log(1.05)
  std::array<double, kBuckets> weights_{};
  double total_ = 0;
};

}  // namespace wattle::sim
