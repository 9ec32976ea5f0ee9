// sane_view: limits a view's numbers to sane values before they reach a plan.
// Units    in names
// Errors   none
// Threads  pure functions
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "placement/cluster/cluster_view.hpp"

namespace wattle::placement {

inline constexpr double kDay_s = 86'400, kHour_s = 3600;
inline constexpr double kUnknownCores = 16;
inline constexpr double kUnknownBytes = 1e18;
inline constexpr double kMostCores = 1e6, kMostBytes = 1e18, kMostJoules = 1e12;  // of any value in a view

// Values that are not finite become 0; others are clipped.
inline double sane(double value, double most) { return std::isfinite(value) ? std::clamp(value, 0.0, most) : 0.0; }

inline Resources sane(const Resources& value) {
  return {sane(value.cpu_cores, kMostCores), sane(value.memory_bytes, kMostBytes)};
}

// Unknown sizes get defaults, so that the node can still be used.
inline Resources size_of(const NodeView& node) {
  Resources size = sane(node.allocatable);
  if (!(size.cpu_cores > 0)) size.cpu_cores = sane(node.values.cpu_cores.value_or(kUnknownCores), kMostCores);
  if (!(size.cpu_cores > 0)) size.cpu_cores = kUnknownCores;
  if (!(size.memory_bytes > 0)) size.memory_bytes = kUnknownBytes;
  return size;
}

inline bool usable(const NodeView& node, double stale_after_s) {
  return node.ready && node.telemetry_age && seconds(*node.telemetry_age) <= stale_after_s;
}

// Removes latency limits that are not valid times, and a soft limit above the hard one: a hard limit is never loosened.
// Appends each removal to `problems`.
PodSpec with_sane_limits(const PodSpec& pod, std::vector<std::string>& problems);

}  // namespace wattle::placement
