// makers: factory functions of the lab's policies, for their list and the files that define them.
// Errors   none
// Threads  any
#pragma once

#include <array>
#include <memory>

#include "placement/decide/policies/policy.hpp"

namespace wattle::placement {

using MadePolicy = std::unique_ptr<Policy>;

MadePolicy make_peaks(const PolicyInfo& info, const NetworkOptions& options);
MadePolicy make_target_load_packing(const PolicyInfo& info, const NetworkOptions& options);
MadePolicy make_lvrb(const PolicyInfo& info, const NetworkOptions& options);
MadePolicy make_koordinator(const PolicyInfo& info, const NetworkOptions& options);

// PEAKS: P(u) = base + k1 e^(k2 u), fitted to the eleven points of a curve by least squares.
struct Exponential {
  double base_w = 0, k1_w = 0, k2 = 0;
  double watts_at(double utilisation) const;
};
Exponential fit_exponential(const std::array<double, kCurvePoints>& watts);

}  // namespace wattle::placement
