// distributions: quantiles of the normal distribution and of Student's t.
// Source   Boost.Math
// Errors   none; ranges are preconditions
// Threads  pure functions
#pragma once

namespace wattle::stats {

inline constexpr double kNormal95 = 1.6448536269514722;   // one-sided
inline constexpr double kNormal975 = 1.9599639845400545;  // two-sided 95%

// Quantile for 0 < p < 1.
double normal_quantile(double p);

// The 97.5% quantile of t; fewer than three degrees of freedom count as three.
double student_quantile_975(double freedom);

}  // namespace wattle::stats
