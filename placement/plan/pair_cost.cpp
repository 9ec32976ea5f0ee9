#include "placement/plan/pair_cost.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

namespace wattle::placement {

namespace {

constexpr double kLeastW0 = 1e-3;

// Returns the cost of one pod that waits for `waited` of its time.
double waiting_pod_w(const Fleet& fleet, const FleetNode& node, const PodEstimate& pod, double waited) {
  if (!(waited > 0)) return 0;
  return stretch_of(waited) * (amortised_w(node, pod) + std::max(0.0, fleet.cpu_wait_price_w) * pod.demand_cores);
}

// `around`: data on the pod's application.
double added_w_of(const Fleet& fleet, std::size_t i, const PodEstimate& ask, const PairExcess::Around& around) {
  const FleetNode& node = fleet.nodes[i];
  if (node.apps == nullptr) return 0;
  const auto apps = node.apps->all();
  PairExcess::Waiting waiting;
  bool new_there = true;
  for (const AppThere& each : apps) {
    new_there = new_there && each.app != ask.app;
    for (const auto& by : around.slowed_by)
      if (by.app == each.app) waiting.add(by);
  }
  double watts = waiting_pod_w(fleet, node, ask, waiting.beyond(around.own));
  for (const AppThere& each : apps) {
    // Another pod of an application already there adds no waiting to others, except to its own application.
    if (!new_there && !(each.app == ask.app && each.pods == 1)) continue;
    if (std::find(around.slows.begin(), around.slows.end(), each.app) == around.slows.end()) continue;
    std::vector<AppId> beside;  // its neighbours there
    for (const AppThere& other : apps)
      if (other.app != each.app || other.pods > 1) beside.push_back(other.app);
    const double before = fleet.pairs->expected(each.app, beside);
    beside.push_back(ask.app);
    const double after = fleet.pairs->expected(each.app, beside);
    if (!(after > before)) continue;
    const auto pods = static_cast<double>(each.pods);
    const PodEstimate mean{{each.request_cores / pods, 0}, each.demand_cores / pods};
    watts += pods * (waiting_pod_w(fleet, node, mean, after) - waiting_pod_w(fleet, node, mean, before));
  }
  return std::isfinite(watts) ? watts : 0;
}

}  // namespace

double added_pair_w(const Fleet& fleet, std::size_t i, const PodEstimate& ask) {
  if (fleet.pairs == nullptr || ask.app == 0) return 0;
  return added_w_of(fleet, i, ask, fleet.pairs->around(ask.app));
}

void apply_pair_cost(const Fleet& fleet, const PodEstimate& ask, std::span<const std::size_t> nodes, PlanView& view) {
  if (fleet.pairs == nullptr || ask.app == 0 || view.nodes.size() != nodes.size()) return;
  const PairExcess::Around known = fleet.pairs->around(ask.app);
  if (known.slowed_by.empty() && known.slows.empty()) return;
  std::vector<double> pairs_w(nodes.size(), 0.0);
  double sum_w = 0, count = 0;
  bool any = false;
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    if (!fits(fleet.nodes[nodes[k]], ask)) continue;
    sum_w += amortised_w(fleet.nodes[nodes[k]], ask);
    ++count;
    pairs_w[k] = added_w_of(fleet, nodes[k], ask, known);
    any = any || pairs_w[k] > 0;
  }
  if (!any) return;
  const double mean_w = std::max(sum_w / count, kLeastW0);
  const std::optional<std::size_t> picked = view.pick;
  double best = -std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    if (!fits(fleet.nodes[nodes[k]], ask)) continue;
    double& preference = view.nodes[k].preference;
    preference -= pairs_w[k] / mean_w;
    if (preference < best || (preference == best && *view.pick < nodes[k])) continue;
    best = preference;
    view.pick = nodes[k];
  }
  for (PlanView::Node& node : view.nodes) node.preference -= best;
  if (picked != view.pick) view.avoided = picked;
}

}  // namespace wattle::placement
