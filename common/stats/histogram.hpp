// histogram: a weighted histogram with steps of a fixed ratio, for percentiles of more values than memory can hold.
// Range    1e-3 .. 1e7; values outside count at the edge
// Errors   none
// Threads  values
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace wattle::stats {

// Each step is kStepThousandths thousandths larger than the one before; kSteps of them cover the range.
template <int kStepThousandths, std::size_t kSteps>
class HistogramOf {
 public:
  void add(double value, double weight) {
    const double step = value > kLeast ? std::log(value / kLeast) / std::log(kStep) : 0;
    weights_[std::min(static_cast<std::size_t>(step), kSteps - 1)] += weight;
    total_ += weight;
  }
  double total() const { return total_; }
  // Upper edge of the step that contains this share of the weight; 0 if empty.
  double quantile(double share) const {
    if (total_ <= 0) return 0;
    double sum = 0;
    for (std::size_t i = 0; i < kSteps; ++i) {
      sum += weights_[i];
      if (sum >= share * total_) return kLeast * std::pow(kStep, static_cast<double>(i + 1));
    }
    return kLeast * std::pow(kStep, static_cast<double>(kSteps));
  }

 private:
  static constexpr double kLeast = 1e-3, kStep = 1 + kStepThousandths / 1000.0;
  std::array<double, kSteps> weights_{};
  double total_ = 0;
};

using Histogram = HistogramOf<50, 473>;       // log(1e10) / log(1.05)
using FineHistogram = HistogramOf<10, 2315>;  // log(1e10) / log(1.01)

}  // namespace wattle::stats
