#include "placement/cluster/fleet.hpp"

#include <algorithm>
#include <cmath>

namespace wattle::placement {

void AppsThere::add(AppId app, double request_cores, double demand_cores, int sign) {
  if (app == 0) return;
  const auto known = std::find_if(apps_.begin(), apps_.end(), [&](const AppThere& each) { return each.app == app; });
  if (known == apps_.end()) {
    if (sign > 0) apps_.push_back({app, 1, request_cores, demand_cores});
    return;
  }
  if (sign < 0 && known->pods <= 1) {
    apps_.erase(known);
    return;
  }
  known->pods += static_cast<std::uint64_t>(sign);
  known->request_cores = std::max(0.0, known->request_cores + sign * request_cores);
  known->demand_cores = std::max(0.0, known->demand_cores + sign * demand_cores);
}

double FleetNode::watts_at(double used) const {
  const double u = allocatable.cpu_cores > 0 ? std::max(0.0, used) / allocatable.cpu_cores : 0.0;
  const double at = std::min(u, 1.0) * static_cast<double>(kCurvePoints - 1);
  const std::size_t below = std::min(static_cast<std::size_t>(at), kCurvePoints - 2);
  const double part = at - static_cast<double>(below);
  const double within_w = watts[below] + part * (watts[below + 1] - watts[below]);
  if (u <= 1) return within_w;
  const double slope_w = std::max(watts.back() - watts.front(), 10 * (watts.back() - watts[kCurvePoints - 2]));
  return within_w + (u - 1) * slope_w;
}

double last_ends_in_s(double mean_life_s, std::size_t pods) {
  constexpr std::size_t kSummed = 128;
  static constexpr auto kSums = [] {
    std::array<double, kSummed + 1> sums{};
    for (std::size_t n = 1; n <= kSummed; ++n) sums[n] = sums[n - 1] + 1 / static_cast<double>(n);
    return sums;
  }();
  if (pods <= kSummed) return mean_life_s * kSums[pods];
  constexpr double kEuler = 0.5772156649015329;
  const auto n = static_cast<double>(pods);
  return mean_life_s * (std::log(n) + kEuler + 1 / (2 * n));
}

double places_of(const FleetNode& node, const Resources& usual) {
  const double cores = usual.cpu_cores > 0 ? usual.cpu_cores : kRequestWhenNone;
  double places = std::min(static_cast<double>(node.pod_capacity), node.allocatable.cpu_cores / cores);
  if (usual.memory_bytes > 0) places = std::min(places, node.allocatable.memory_bytes / usual.memory_bytes);
  return places;
}

double places_taken(const Resources& request, const Resources& usual) {
  double places = request.cpu_cores / (usual.cpu_cores > 0 ? usual.cpu_cores : kRequestWhenNone);
  if (usual.memory_bytes > 0) places = std::max(places, request.memory_bytes / usual.memory_bytes);
  return places;
}

double packing_w(const FleetNode& node, const Resources& usual) {
  constexpr double kLeastPlaces = 1e-3;
  const double half_load_w = node.half_load_w > 0 ? node.half_load_w : node.watts_at(0.5 * node.allocatable.cpu_cores);
  return half_load_w / std::max(places_of(node, usual), kLeastPlaces);
}

bool fits(const FleetNode& node, const PodEstimate& ask) {
  constexpr double kRounding = 1e-9;
  return node.open && node.pods < node.pod_capacity &&
         node.requested.cpu_cores + ask.request.cpu_cores <= node.allocatable.cpu_cores * (1 + kRounding) &&
         node.requested.memory_bytes + ask.request.memory_bytes <= node.allocatable.memory_bytes * (1 + kRounding);
}

double added_w(const Fleet& fleet, std::size_t i, const PodEstimate& ask) {
  const FleetNode& node = fleet.nodes[i];
  const double before_w = node.sleeps ? node.sleep_w : node.watts_at(node.used_cores);
  const double wake_w = node.sleeps && fleet.hold_s > 0 ? node.wake_j / fleet.hold_s : 0;
  return node.watts_at(node.used_cores + ask.demand_cores) - before_w + wake_w;
}

double amortised_w(const FleetNode& node, const PodEstimate& ask) {
  double slots = static_cast<double>(node.pod_capacity);
  if (ask.request.cpu_cores > 0) slots = std::min(slots, node.allocatable.cpu_cores / ask.request.cpu_cores);
  if (ask.request.memory_bytes > 0) slots = std::min(slots, node.allocatable.memory_bytes / ask.request.memory_bytes);
  return node.idle_w() / std::max(1.0, std::floor(slots + 1e-9)) + node.watts_at(node.used_cores + ask.demand_cores) -
         node.watts_at(node.used_cores);
}

}  // namespace wattle::placement
