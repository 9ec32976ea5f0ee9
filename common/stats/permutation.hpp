// permutation: how likely a mean difference is by chance, and its correction where many are looked at.
// Source   paired permutation of signs, two-sided; Holm 1979
// Errors   none
// Threads  pure functions
#pragma once

#include <span>
#include <vector>

namespace wattle::stats {

// Chance that the mean of differences is at least as far from 0 when signs are drawn at random: all 2^n signs up to 13
// differences, else 10,000 draws of a fixed seed. At least 1 difference; 1, no evidence, for fewer than kLeastSeeds.
double sign_flip_p(std::span<const double> differences);

// Holm's step-down correction: the adjusted p of each, in their order.
std::vector<double> holm(std::span<const double> p);

}  // namespace wattle::stats
