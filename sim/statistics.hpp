// statistics: paired comparisons with intervals.
// Source   percentile bootstrap of the mean of paired differences (Efron and Tibshirani 1993), 10,000 resamples,
//          fixed seed; likewise of the inter-quartile mean
//          permutation of signs; Holm 1979
// Errors   none; the two series have the same length, at least 1
// Threads  pure functions
#pragma once

#include <optional>
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

// Chance that the mean of differences is at least as far from 0 when signs are drawn at random (paired permutation, two-sided):
// all 2^n signs up to 13 differences, else 10,000 draws of a fixed seed. At least 1 difference.
double sign_flip_p(std::span<const double> differences);

// Holm's step-down correction: the adjusted p of each, in their order.
std::vector<double> holm(std::span<const double> p);

// Inter-quartile mean of all values, resampled within each stratum (Agarwal et al. 2021); no stratum is empty.
Interval iqm_interval(std::span<const std::vector<double>> strata);

// Ratio of the inter-quartile means of a and b less 1, pairs resampled: for figures that may be 0 on some seeds. Absent: that of b is 0.
std::optional<Interval> iqm_ratio(std::span<const double> a, std::span<const double> b);

}  // namespace wattle::sim
