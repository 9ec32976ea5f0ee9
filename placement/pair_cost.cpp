#include "placement/pair_cost.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

namespace wattle::placement {

namespace {

constexpr double kLeastW0 = 1e-3;

// Of one pod there that waits for `waited` of its time.
double waiting_pod_w(const Fleet& fleet, const FleetNode& node, const PodEstimate& pod, double waited) {
  if (!(waited > 0)) return 0;
  return stretch_of(waited) * (amortised_w(node, pod) + std::max(0.0, fleet.cpu_wait_price_w) * pod.demand_cores);
}

}  // namespace

double added_pair_w(const Fleet& fleet, std::size_t i, const PodEstimate& ask) {
  const FleetNode& node = fleet.nodes[i];
  if (fleet.pairs == nullptr || node.apps == nullptr || ask.app == 0 || node.apps->all().empty()) return 0;
  const auto apps = node.apps->all();
  std::vector<AppId> there;
  there.reserve(apps.size() + 1);
  for (const AppThere& each : apps) there.push_back(each.app);
  double watts = waiting_pod_w(fleet, node, ask, fleet.pairs->expected(ask.app, there));
  // One more of an application adds nothing to what others wait because of it, but to its own.
  const auto same = std::find(there.begin(), there.end(), ask.app);
  const bool new_there = same == there.end();
  for (const AppThere& each : apps) {
    const bool its_own = each.app == ask.app;
    if (!new_there && !(its_own && each.pods == 1)) continue;
    const auto pods = static_cast<double>(each.pods);
    const PodEstimate mean{{each.request_cores / pods, 0}, each.demand_cores / pods};
    std::vector<AppId> before;  // whom it has beside it
    for (const AppThere& other : apps)
      if (other.app != each.app || other.pods > 1) before.push_back(other.app);
    const double waited = fleet.pairs->expected(each.app, before);
    before.push_back(ask.app);
    const double after = fleet.pairs->expected(each.app, before);
    if (after > waited)
      watts += pods * (waiting_pod_w(fleet, node, mean, after) - waiting_pod_w(fleet, node, mean, waited));
  }
  return std::isfinite(watts) ? watts : 0;
}

void mind_pairs(const Fleet& fleet, const PodEstimate& ask, std::span<const std::size_t> nodes, PlanView& view) {
  if (fleet.pairs == nullptr || ask.app == 0 || view.nodes.size() != nodes.size()) return;
  std::vector<double> pairs_w(nodes.size(), 0.0);
  double sum_w = 0, count = 0;
  bool any = false;
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    if (!fits(fleet.nodes[nodes[k]], ask)) continue;
    sum_w += amortised_w(fleet.nodes[nodes[k]], ask);
    ++count;
    pairs_w[k] = added_pair_w(fleet, nodes[k], ask);
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
