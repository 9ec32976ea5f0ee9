// curve_points: reads a curve of watts at 0,10,...,100% utilisation between its points.
// Units    utilisation 0..1, watts
// Errors   none
// Threads  pure functions
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "placement/cluster/power_curve.hpp"

namespace wattle::placement {

using CurvePoints = std::array<double, kCurvePoints>;

inline double between_points(const CurvePoints& points, double utilisation) {
  const double place = std::clamp(utilisation, 0.0, 1.0) * static_cast<double>(kCurvePoints - 1);
  const std::size_t below = std::min(static_cast<std::size_t>(place), kCurvePoints - 2);
  const double share = place - static_cast<double>(below);
  return points[below] * (1 - share) + points[below + 1] * share;
}

// Slope beyond full load: that of the last tenth, or the mean slope if it is steeper, so that overload always costs
// watts.
inline double slope_beyond_w(const CurvePoints& points) {
  return std::max(points.back() - points.front(), 10 * (points[kCurvePoints - 1] - points[kCurvePoints - 2]));
}

// Watts at any utilisation from 0 up.
inline double extended_w(const CurvePoints& points, double slope_w, double utilisation) {
  return between_points(points, std::isfinite(utilisation) ? utilisation : 0.0) +
         std::max(0.0, utilisation - 1.0) * slope_w;
}

}  // namespace wattle::placement
