// quantile: the nearest-rank quantile, which is always one of the values.
// Errors   none; no value for empty input
// Threads  pure functions
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace wattle::stats {

// Expects values in rising order; `share` 0 is the smallest, 1 the largest.
std::optional<double> quantile_of_sorted(std::span<const double> sorted, double share);

// Accepts values in any order.
std::optional<double> quantile(std::vector<double> values, double share);

}  // namespace wattle::stats
