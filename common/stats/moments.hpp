// moments: count, mean and variance of values that come one by one (Welford 1962).
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
  double mean() const { return mean_; }  // 0 of none
  // Of the values, without bias; 0 below two of them.
  double variance() const { return count_ < 2 ? 0 : squares_ / static_cast<double>(count_ - 1); }
  double deviation() const { return std::sqrt(variance()); }
  // Of their mean.
  double variance_of_mean() const { return count_ < 2 ? 0 : variance() / static_cast<double>(count_); }

 private:
  std::size_t count_ = 0;
  double mean_ = 0, squares_ = 0;
};

}  // namespace wattle::stats
