// statistics: paired comparisons with intervals.
// Source   percentile bootstrap of the mean of paired differences (Efron and Tibshirani 1993), 10,000 resamples,
//          fixed seed; likewise of the inter-quartile mean
// Errors   none; the two series have the same length, at least 1
// Threads  pure functions
#pragma once

#include <span>
#include <vector>

namespace wattle::sim {

struct Interval {
  double mean = 0;
  double low = 0, high = 0;  // 95 %
  bool above_zero() const { return low > 0; }
  bool below_zero() const { return high < 0; }
};

double mean(std::span<const double> values);

// Of a[i] - b[i], same seed each.
Interval paired_difference(std::span<const double> a, std::span<const double> b);

// Of a[i] / b[i] - 1; b is not 0.
Interval paired_ratio(std::span<const double> a, std::span<const double> b);

// Mean of the middle half; the values at its edges count in part.
double interquartile_mean(std::span<const double> values);

// Inter-quartile mean of all values, resampled within each stratum (Agarwal et al. 2021); no stratum is empty.
Interval iqm_interval(std::span<const std::vector<double>> strata);

}  // namespace wattle::sim
