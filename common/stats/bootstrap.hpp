// bootstrap: confidence intervals of paired differences, paired ratios and interquartile means.
// Source   percentile bootstrap (Efron and Tibshirani 1993), 10,000 resamples with a fixed seed; strata as in Agarwal
//          et al. 2021
// Errors   none; two series have the same length, at least 1. Fewer than kLeastSeeds values give an estimate without a
//          range
// Threads  pure functions
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "common/stats/interval.hpp"

namespace wattle::stats {

double mean(std::span<const double> values);  // 0 if empty

// Interval of the mean of a[i] - b[i]; both use the same seed per index.
Interval paired_difference(std::span<const double> a, std::span<const double> b);

// Interval of the mean of a[i] / b[i] - 1; b must not be 0.
Interval paired_ratio(std::span<const double> a, std::span<const double> b);

// Mean of the middle half; values at its edges count partly.
double interquartile_mean(std::span<const double> values);

// Interquartile mean of all values, resampled within each stratum; no stratum is empty.
Interval iqm_interval(std::span<const std::vector<double>> strata);

// Ratio of the interquartile means of a and b, minus 1, with pairs resampled: for values that may be 0 on some seeds.
// No value if that of b is 0.
std::optional<Interval> iqm_ratio(std::span<const double> a, std::span<const double> b);

}  // namespace wattle::stats
