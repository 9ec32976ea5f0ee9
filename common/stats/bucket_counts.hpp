// bucket_counts: counts values by size for a Prometheus histogram. Counts are cumulative and never reset.
// Units    those of the bounds
// Errors   none; NaN is not counted
// Threads  values
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace wattle::stats {

template <std::size_t N>
class BucketCounts {
 public:
  // Upper bounds, ascending; one more bucket counts values above the last.
  explicit BucketCounts(const std::array<double, N>& bounds) : bounds_(bounds) {}
  void add(double value) {
    if (std::isnan(value)) return;
    const auto at = std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin();
    ++counts_[static_cast<std::size_t>(at)];
    ++count_;
    sum_ += value;
  }
  const std::array<double, N>& bounds() const { return bounds_; }
  // Returns the number of values at or below the bound with this index.
  std::uint64_t up_to(std::size_t bound) const {
    std::uint64_t all = 0;
    for (std::size_t i = 0; i <= bound; ++i) all += counts_[i];
    return all;
  }
  std::uint64_t count() const { return count_; }
  double sum() const { return sum_; }

 private:
  std::array<double, N> bounds_;
  std::array<std::uint64_t, N + 1> counts_{};
  std::uint64_t count_ = 0;
  double sum_ = 0;
};

}  // namespace wattle::stats
