// bootstrap: intervals of paired differences, paired ratios and inter-quartile means.
// Source   percentile bootstrap (Efron and Tibshirani 1993), 10,000 resamples of a fixed seed; strata as Agarwal et al. 2021
// Errors   none; two series have the same length, at least 1. Fewer than kLeastSeeds values give an estimate without a range
// Threads  pure functions
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "common/stats/interval.hpp"

namespace wattle::stats {

double mean(std::span<const double> values);  // 0 of none

// Of a[i] - b[i], same seed each.
Interval paired_difference(std::span<const double> a, std::span<const double> b);

// Of a[i] / b[i] - 1; b is not 0.
Interval paired_ratio(std::span<const double> a, std::span<const double> b);

// Mean of the middle half; the values at its edges count in part.
double interquartile_mean(std::span<const double> values);

// Inter-quartile mean of all values, resampled within each stratum; no stratum is empty.
Interval iqm_interval(std::span<const std::vector<double>> strata);

// Ratio of the inter-quartile means of a and b less 1, pairs resampled: for figures that may be 0 on some seeds. Absent: that of b
// is 0.
std::optional<Interval> iqm_ratio(std::span<const double> a, std::span<const double> b);

}  // namespace wattle::stats
