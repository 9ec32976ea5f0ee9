// peaks: least added watts on exponential power curves, as PEAKS of kubernetes-sigs/scheduler-plugins fits them.
// Errors   none
// Threads  pure functions
#pragma once

#include <array>

#include "placement/decide/policies/policy.hpp"

namespace wattle::placement {

// PEAKS: P(u) = base + k1 e^(k2 u), fitted to the eleven points of a curve by least squares.
struct Exponential {
  double base_w = 0, k1_w = 0, k2 = 0;
  double watts_at(double utilisation) const;
};
Exponential fit_exponential(const std::array<double, kCurvePoints>& watts);

}  // namespace wattle::placement
