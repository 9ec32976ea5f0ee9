// ranks: ranks values from 0 (lowest) to 1 (highest). Ties share the mean of their ranks, so that the order of the
// input has no effect. Compares values as floats.
// Cost     a radix sort from a few hundred values on: comparison sorting of a thousand nodes would cost more than their
//          network's first layer
// Errors   none; values are finite
// Threads  pure
#pragma once

#include <span>
#include <vector>

namespace wattle::placement {

// Returns one rank per value; all 0 if there are fewer than two.
std::vector<float> mean_ranks(std::span<const double> values);

// Sorts as std::sort does.
void sort_ascending(std::vector<double>& values);

}  // namespace wattle::placement
