#include "placement/network_rule.hpp"

#include <numeric>

#include "placement/features.hpp"

namespace wattle::placement {

void fill_view(const Fleet& fleet, ClusterView& view) {
  view.nodes.resize(fleet.nodes.size());
  for (std::size_t i = 0; i < fleet.nodes.size(); ++i) {
    const FleetNode& from = fleet.nodes[i];
    NodeView& to = view.nodes[i];
    to.asleep = from.sleeps;
    to.wake_cost_j = from.wake_j;
    to.telemetry_age = Duration{};
    to.allocatable = from.allocatable;
    to.requested = from.requested;
    to.pod_capacity = from.pod_capacity;
    to.pods = from.pods;
    to.values.cpu_cores = from.allocatable.cpu_cores;
    to.values.cpu_used_cores = from.used_cores;
    if (to.curve.points() != from.watts) to.curve = PowerCurve::known(from.watts);
  }
}

namespace {

models::Observation observe_fleet(const Fleet& fleet, const Ask& ask, const PlanView& plan, ClusterView& scratch) {
  fill_view(fleet, scratch);
  PodSpec pod;
  pod.request = ask.request;
  RewardConfig reward;
  reward.horizon_s = fleet.hold_s;
  models::Observation seen = observe(scratch, pod, std::vector<std::string_view>(fleet.nodes.size()), reward, &plan);
  for (std::size_t i = 0; i < fleet.nodes.size(); ++i) seen.valid[i] = fits(fleet.nodes[i], ask) ? 1 : 0;
  return seen;
}

}  // namespace

PlannedAsk observe_planned(Planner& planner, const Fleet& fleet, const Ask& ask, ClusterView& scratch) {
  PlannedAsk asked;
  asked.plan = planner.view(fleet, ask);
  asked.observation = observe_fleet(fleet, ask, asked.plan, scratch);
  return asked;
}

PlannedAsk observe_unplanned(const Fleet& fleet, const Ask& ask, ClusterView& scratch) {
  PlannedAsk asked;
  asked.plan.demand_cores = ask.demand_cores;
  asked.plan.demand_quantile = demand_quantile(fleet, ask);
  if (!fleet.pods_stay) asked.plan.life_s = ask.life_s;
  asked.observation = observe_fleet(fleet, ask, asked.plan, scratch);
  return asked;
}

std::optional<std::size_t> best_node(const models::Observation& observation, std::span<const float> residual,
                                     std::optional<std::size_t> keep, double margin) {
  const auto q = [&](std::size_t i) {
    return static_cast<double>(observation.prior[i]) + static_cast<double>(residual[i]);
  };
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < observation.nodes; ++i)
    if (observation.valid[i] != 0 && (!best || q(i) > q(*best))) best = i;
  if (best && keep && observation.valid[*keep] != 0 && q(*best) <= q(*keep) + margin) return keep;
  return best;
}

void NetworkRule::compare(const Fleet& fleet, const Ask& ask) {
  if (rows_.size() != fleet.nodes.size()) {
    rows_.resize(fleet.nodes.size());
    std::iota(rows_.begin(), rows_.end(), std::size_t{0});
  }
  PodSpec pod;
  pod.request = ask.request;
  RewardConfig reward;
  reward.horizon_s = fleet.hold_s;
  const auto figure = twins_.play(
      {view_, fleet, rows_, pod, ask, reward, {}, *network_, options_.margin, pod_, options_.lives_known}, planner_);
  if (figure) contest_.add(*figure);
}

std::optional<std::size_t> NetworkRule::choose(const Fleet& fleet, const Ask& ask) {
  const PlannedAsk asked =
      options_.plan ? observe_planned(planner_, fleet, ask, view_) : observe_unplanned(fleet, ask, view_);
  if (options_.guard && options_.plan) compare(fleet, ask);
  q_.assign(asked.observation.nodes, 0.0F);
  if (contest_.left_out())
    ++left_out_;
  else
    network_->residual(asked.observation, q_);
  const auto chosen = best_node(asked.observation, q_, asked.plan.pick, options_.margin);
  if (chosen) ++choices_;
  if (chosen && options_.guard && options_.plan) twins_.placed(pod_, *chosen, ask, fleet.now_s);
  if (chosen != asked.plan.pick) ++deviations_;
  return chosen;
}

}  // namespace wattle::placement
