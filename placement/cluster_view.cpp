// cluster_view: what several decisions ask of a node.
#include "placement/cluster_view.hpp"

#include <algorithm>
#include <cmath>

namespace wattle::placement {

std::optional<double> latency_for(const NodeView& node, const PodSpec& pod) {
  const auto found = node.latency_ms.find(pod.latency_target.empty() ? "default" : pod.latency_target);
  if (found == node.latency_ms.end() || !std::isfinite(found->second) || found->second < 0) return std::nullopt;
  return found->second;
}

std::optional<double> cpu_utilisation(const NodeView& node) {
  if (!node.values.cpu_used_cores) return std::nullopt;
  const double cores = node.values.cpu_cores.value_or(node.allocatable.cpu_cores);
  const double used_cores = *node.values.cpu_used_cores;
  if (!(cores > 0) || !std::isfinite(cores) || !std::isfinite(used_cores)) return std::nullopt;
  return std::clamp(used_cores / cores, 0.0, 1.0);
}

}  // namespace wattle::placement
