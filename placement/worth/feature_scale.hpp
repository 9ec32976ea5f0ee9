// feature_scale: scales values to features, reads sizes of nodes for them, and names the columns that are accessed
// individually.
// Errors   none: all outputs are finite
// Threads  pure functions
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "placement/cluster/cluster_view.hpp"

namespace wattle::placement::feature {

inline constexpr double kMaxRatio = 4;
inline constexpr double kMaxRelative = 20;

inline double within(double value, double limit) {
  if (std::isnan(value)) return 0;
  return std::clamp(value, -limit, limit);
}
inline float ratio(double value) { return static_cast<float>(within(value, kMaxRatio)); }
inline float relative(double value) { return static_cast<float>(within(value, kMaxRelative)); }
inline float flag(bool value) { return value ? 1.0F : 0.0F; }
inline float logarithm(double value, double divisor) {
  const double inside = std::isfinite(value) ? std::max(value, 0.0) : 0.0;
  return static_cast<float>(within(std::log2(1 + inside) / divisor, kMaxRatio));
}
inline double part(double of, double whole) { return whole > 0 ? of / whole : 0.0; }

// Cores of a node; 0: unknown.
inline double cores_of(const NodeView& node) {
  const double cores = node.values.cpu_cores.value_or(node.allocatable.cpu_cores);
  return cores > 0 && std::isfinite(cores) ? cores : 0.0;
}

// Utilisation of one core; a node of unknown size counts as one of 16 cores.
inline double utilisation_per_core(const NodeView& node) {
  constexpr double kUnknownCores = 16;
  const double cores = cores_of(node);
  return 1 / (cores > 0 ? cores : kUnknownCores);
}

// Columns of a node.
inline constexpr std::size_t kCpuRequested = 0, kCpuUsed = 1, kMemoryRequested = 2, kMemoryUsed = 3, kPodsComing = 4,
                             kCpuComing = 5, kPlanPreference = 6, kPods = 7, kSameApp = 8, kCores = 9, kPsiCpu = 10,
                             kPsiOther = 11, kPlanLeft = 12, kIdlePerSlot = 13, kMarginal = 14, kMarginalWithWake = 15,
                             kPlanExpected = 16, kAmortised = 17, kAmortisedRank = 18, kActive = 19, kAsleep = 20,
                             kHalfPerSlot = 21, kFullPerSlot = 22, kSlope = 23, kSlopeRank = 24, kLatencySoft = 25,
                             kLatencyHard = 26, kLatencyKnown = 27, kAge = 28, kIoUsed = 29, kTcpShare = 30,
                             kOutlives = 31, kCurveError = 32, kUseUnsure = 33, kWaitAdded = 34, kWaitError = 35;

}  // namespace wattle::placement::feature
