// cluster_view: values of a node that several decisions use.
#include "placement/cluster/cluster_view.hpp"

#include <algorithm>
#include <cmath>

namespace wattle::placement {

std::optional<double> latency_for(const NodeView& node, const PodSpec& pod) {
  return latency_for(node, pod.latency_target);
}

std::optional<double> latency_for(const NodeView& node, std::string_view target) {
  // A node has one or two targets: a linear search is cheaper than building a key, a thousand times per decision.
  if (target.empty()) target = "default";
  for (const auto& [name, p50_ms] : node.latency_ms) {
    if (name != target) continue;
    if (!std::isfinite(p50_ms) || p50_ms < 0) return std::nullopt;
    return p50_ms;
  }
  return std::nullopt;
}

double demand_cores(const PodSpec& pod) {
  if (pod.demand_cores && std::isfinite(*pod.demand_cores)) return std::max(0.0, *pod.demand_cores);
  const double request_cores = pod.request.cpu_cores;
  return kDemandOfRequest * (request_cores > 0 && std::isfinite(request_cores) ? request_cores : kRequestWhenNone);
}

std::optional<double> cpu_utilisation(const NodeView& node) {
  if (!node.values.cpu_used_cores) return std::nullopt;
  const double cores = node.values.cpu_cores.value_or(node.allocatable.cpu_cores);
  const double used_cores = *node.values.cpu_used_cores;
  if (!(cores > 0) || !std::isfinite(cores) || !std::isfinite(used_cores)) return std::nullopt;
  return std::clamp(used_cores / cores, 0.0, 1.0);
}

double expected_cpu_cores(const NodeView& node) {
  const std::optional<double> used = node.values.cpu_used_cores;
  const double cores = used && std::isfinite(*used) ? *used : kDemandOfRequest * node.requested.cpu_cores;
  const double staying = std::max(0.0, cores - node.leaving_cpu_cores);
  const double expected = staying + node.unsettled_cpu_cores + kDemandOfRequest * node.in_flight_request.cpu_cores;
  return std::isfinite(expected) ? std::max(0.0, expected) : 0.0;
}

}  // namespace wattle::placement
