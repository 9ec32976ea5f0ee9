// interval: an estimate with its 95% confidence interval, and whether the sample is large enough to state one.
// Rule     fewer than kLeastSeeds independent seeds (fleets, days, clusters, blocks of a canary) give the estimate
//          only, without a range or a verdict: above_zero() and below_zero() are false then
// Threads  values, pure functions
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>

namespace wattle::stats {

inline constexpr std::size_t kLeastSeeds = 5;
// Fewer seeds give no interval. All reports use this rule.
constexpr bool enough_seeds(std::size_t seeds) { return seeds >= kLeastSeeds; }

struct Interval {
  double mean = 0;
  double low = 0, high = 0;  // 95%; NaN: too few seeds
  bool known() const { return std::isfinite(low) && std::isfinite(high); }
  bool above_zero() const { return low > 0; }
  bool below_zero() const { return high < 0; }
};

// The estimate of too few seeds.
inline Interval without_range(double mean) {
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  return {mean, kUnknown, kUnknown};
}

struct NumberForm {
  int decimals = 2;
  double scale = 1;
  bool sign = false;  // "+1.20"
  const char* unit = "";
};
// "1.20 [0.30, 2.10]"; "1.20 [needs 5 seeds]" where no range is known. The unit follows the estimate.
std::string interval_text(const Interval& interval, const NumberForm& form);
// Only the range.
std::string range_text(const Interval& interval, const NumberForm& form);
// A line for people below figures from this number of seeds; empty if they are enough. `option`: how to ask for more,
// such as "--seeds".
std::string seeds_note(std::size_t seeds, const std::string& option);

}  // namespace wattle::stats
