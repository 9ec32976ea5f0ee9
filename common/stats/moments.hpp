// moments: count, mean and variance of a stream of values (Welford 1962).
// Errors   none
// Threads  values
#pragma once

#include <cmath>
#include <cstddef>

namespace wattle::stats {

class Moments {
 public:
  void add(double value) {
    ++count_;
    const double away = value - mean_;
    mean_ += away / static_cast<double>(count_);
    squares_ += away * (value - mean_);
  }
  std::size_t count() const { return count_; }
  double mean() const { return mean_; }  // 0 if empty
  // Unbiased variance of the values; 0 for fewer than two.
  double variance() const { return count_ < 2 ? 0 : squares_ / static_cast<double>(count_ - 1); }
  double deviation() const { return std::sqrt(variance()); }
  // Variance of their mean.
  double variance_of_mean() const { return count_ < 2 ? 0 : variance() / static_cast<double>(count_); }

 private:
  std::size_t count_ = 0;
  double mean_ = 0, squares_ = 0;
};

}  // namespace wattle::stats
