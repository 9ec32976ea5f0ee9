// quantile: the value that a share of all values does not exceed, by nearest rank: always one of the values.
// Errors   none; absent of no values
// Threads  pure functions
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace wattle::stats {

// Of values in rising order; `share` 0 is the least, 1 the largest.
std::optional<double> quantile_of_sorted(std::span<const double> sorted, double share);

// In any order.
std::optional<double> quantile(std::vector<double> values, double share);

}  // namespace wattle::stats
