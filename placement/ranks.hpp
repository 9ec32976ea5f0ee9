// ranks: where each of many values stands, 0 lowest to 1 highest; ties share the mean of their places, so that order means
// nothing. Values are compared as floats are.
// Cost     a radix sort from a few hundred values on: comparing costs a thousand nodes more than their network's first layer
// Errors   none; values are finite
// Threads  pure
#pragma once

#include <span>
#include <vector>

namespace wattle::placement {

// One per value; all 0 when there are fewer than two.
std::vector<float> mean_ranks(std::span<const double> values);

}  // namespace wattle::placement
