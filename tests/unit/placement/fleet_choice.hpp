// fleet_choice: the node that a policy scores highest on a fleet, computed by a view of the same nodes.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "placement/decide/policies/policy.hpp"
#include "sim/improve/fleet_chooser.hpp"

namespace wattle::placement::testing {

// `latency_ms`: from each node to the pod's users; empty: unknown.
inline std::optional<std::size_t> choose(Policy& policy, const Fleet& fleet, const PodEstimate& ask,
                                         std::uint64_t turn = 0, std::span<const double> latency_ms = {},
                                         PodSpec pod = {}) {
  ClusterView view;
  sim::fill_view(fleet, view);
  for (std::size_t i = 0; i < latency_ms.size(); ++i) view.nodes[i].latency_ms["default"] = latency_ms[i];
  pod.request = ask.request;
  pod.demand_cores = ask.demand_cores;
  std::vector<std::size_t> rows, feasible;
  for (std::size_t i = 0; i < fleet.nodes.size(); ++i) {
    rows.push_back(i);
    if (fits(fleet.nodes[i], ask)) feasible.push_back(i);
  }
  if (feasible.empty()) return std::nullopt;
  Fleet copy = fleet;
  PolicyContext context(view, pod, rows, feasible, nullptr, turn);
  context.copy = &copy;
  std::vector<double> values(rows.size(), 0.0);
  policy.score(context, values);
  std::size_t best = feasible.front();
  for (const std::size_t row : feasible)
    if (values[row] > values[best]) best = row;
  return best;
}

}  // namespace wattle::placement::testing
