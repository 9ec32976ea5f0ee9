// permutation: significance of a mean difference, and correction for multiple comparisons.
// Source   paired permutation of signs, two-sided; Holm 1979
// Errors   none
// Threads  pure functions
#pragma once

#include <span>
#include <vector>

namespace wattle::stats {

// p-value of the mean difference under random signs: all 2^n signs for up to 13 differences, otherwise 10,000 draws
// with a fixed seed. Needs at least 1 difference; 1, no evidence, for fewer than kLeastSeeds.
double sign_flip_p(std::span<const double> differences);

// Holm's step-down correction; adjusted p-values in the order of the input.
std::vector<double> holm(std::span<const double> p);

}  // namespace wattle::stats
