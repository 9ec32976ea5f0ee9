#include "placement/pair_cost.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace wattle::placement {

namespace {

constexpr double kLeastW0 = 1e-3;

using Neighbours = std::vector<PairExcess::Around::Neighbour>;

// Extra time of a pod of `self` over what it would take beside nobody, while pods that slow it are there: the worst of them counts. Where pods
// come and go, of n of them and itself, each as likely to outlast the others, it has none beside it any more for 1 / (n + 1) of its
// time. `more`: one more of that application comes.
double stretch_beside(const Neighbours& slowed_by, std::span<const AppThere> apps, AppId self, AppId more, bool stay) {
  double worst = 0, weighed = 0;
  for (const auto& by : slowed_by) {
    double pods = by.app == more ? 1 : 0;
    for (const AppThere& there : apps)
      if (there.app == by.app) pods += static_cast<double>(there.pods) - (by.app == self ? 1 : 0);
    if (!(pods > 0)) continue;
    worst = std::max(worst, by.waited);
    weighed += pods * by.waited;
  }
  if (!(worst > 0)) return 0;
  const double n = weighed / worst;
  return stretch_of(worst) * (stay ? 1 : n / (n + 1));
}

// Of a pod that takes twice its time. Who comes later is disturbed by it, too: a mix goes on where it has begun (docs/research/pairs.md).
constexpr double kGoesOn = 4;
double stretched_w(const Fleet& fleet, const FleetNode& node, const PodEstimate& pod) {
  return kGoesOn * amortised_w(node, pod) + std::max(0.0, fleet.cpu_wait_price_w) * pod.demand_cores;
}

// What is known around the pod's application, and around those that it slows.
struct Disturbed {
  Neighbours slowed_by;
  std::vector<std::pair<AppId, Neighbours>> slows;
};

Disturbed around(const PairExcess& pairs, AppId app) {
  auto known = pairs.around(app);
  Disturbed made{std::move(known.slowed_by), {}};
  for (const AppId other : known.slows) made.slows.emplace_back(other, pairs.around(other).slowed_by);
  return made;
}

double added_w_of(const Fleet& fleet, std::size_t i, const PodEstimate& ask, const Disturbed& known) {
  const FleetNode& node = fleet.nodes[i];
  if (node.apps == nullptr) return 0;
  const auto apps = node.apps->all();
  constexpr AppId kNone = 0;
  const double own = stretch_beside(known.slowed_by, apps, kNone, kNone, fleet.pods_stay);
  double watts = own > 0 ? own * stretched_w(fleet, node, ask) : 0;
  for (const auto& [app, slowed_by] : known.slows) {
    for (const AppThere& there : apps) {
      if (there.app != app) continue;
      const auto pods = static_cast<double>(there.pods);
      const PodEstimate mean{{there.request_cores / pods, 0}, there.demand_cores / pods};
      const double more = stretch_beside(slowed_by, apps, app, ask.app, fleet.pods_stay) -
                          stretch_beside(slowed_by, apps, app, kNone, fleet.pods_stay);
      watts += pods * std::max(0.0, more) * stretched_w(fleet, node, mean);
    }
  }
  return std::isfinite(watts) ? watts : 0;
}

}  // namespace

double added_pair_w(const Fleet& fleet, std::size_t i, const PodEstimate& ask) {
  if (fleet.pairs == nullptr || ask.app == 0) return 0;
  return added_w_of(fleet, i, ask, around(*fleet.pairs, ask.app));
}

void mind_pairs(const Fleet& fleet, const PodEstimate& ask, std::span<const std::size_t> nodes, PlanView& view) {
  if (fleet.pairs == nullptr || ask.app == 0 || view.nodes.size() != nodes.size()) return;
  const Disturbed known = around(*fleet.pairs, ask.app);
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
