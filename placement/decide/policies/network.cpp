#include "placement/decide/policies/network.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "placement/decide/policies/makers.hpp"
#include "placement/decide/policies/registry.hpp"
#include "placement/judge/paired_choices.hpp"
#include "placement/plan/pair_cost.hpp"
#include "placement/worth/features.hpp"
#include "placement/worth/shortlist.hpp"

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

models::Observation observe_fleet(const Fleet& fleet, const PodEstimate& ask, const PlanView& plan,
                                  ClusterView& scratch) {
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

PlannedAsk observe_planned(Planner& planner, const Fleet& fleet, const PodEstimate& ask, ClusterView& scratch) {
  PlannedAsk asked;
  asked.plan = planner.view(fleet, ask);
  asked.observation = observe_fleet(fleet, ask, asked.plan, scratch);
  return asked;
}

PlannedAsk observe_unplanned(const Fleet& fleet, const PodEstimate& ask, ClusterView& scratch) {
  PlannedAsk asked;
  asked.plan.demand_cores = ask.demand_cores;
  asked.plan.demand_quantile = demand_quantile(fleet, ask);
  if (!fleet.pods_stay) asked.plan.life_s = ask.life_s;
  asked.observation = observe_fleet(fleet, ask, asked.plan, scratch);
  return asked;
}

NetworkPolicy::NetworkPolicy(std::shared_ptr<const models::QNetwork> network, const NetworkOptions& options)
    : NetworkPolicy(parse_policy("dqn").value(), options) {
  network_ = std::move(network);
}

// Without a cluster model there is no plan.
std::optional<PlanView> NetworkPolicy::plan_view(PolicyContext& context) {
  if (!options_.plan || !context.has_knowledge()) return std::nullopt;
  PlanView view = planner_.view(context.fleet(), context.ask(), context.row_nodes());
  if (context.minds_pairs) mind_pairs(context.fleet(), context.ask(), context.row_nodes(), view);
  return view;
}

void NetworkPolicy::score(PolicyContext& context, std::span<double> values) {
  if (context.q.empty()) {
    if (const auto chosen = choose(context))
      for (std::size_t row = 0; row < values.size(); ++row) values[row] = context.node(row) == *chosen ? 1 : 0;
    return;
  }
  std::copy(context.q.begin(), context.q.end(), values.begin());
  if (options_.margin <= 0 || context.plan == nullptr || !context.plan->pick) return;
  double best = -INFINITY;
  std::optional<std::size_t> kept;
  for (const std::size_t row : context.feasible()) {
    best = std::max(best, values[row]);
    if (context.node(row) == *context.plan->pick) kept = row;
  }
  // Exceeds all others by more than a tie.
  if (kept && best <= values[*kept] + options_.margin) values[*kept] = best + 1e-3;
}

void NetworkPolicy::compare(const models::QNetwork& network, PolicyContext& context) {
  const Fleet& fleet = context.fleet();
  if (rows_.size() != fleet.nodes.size()) {
    rows_.resize(fleet.nodes.size());
    std::iota(rows_.begin(), rows_.end(), std::size_t{0});
  }
  PodSpec pod;
  pod.request = context.ask().request;
  RewardConfig reward;
  reward.horizon_s = fleet.hold_s;
  const PairedQuestion question{view_, fleet, rows_, pod, context.ask(), {}, context.key, options_.lives_known};
  const auto figure = copies_.play(question, by_network(question, copies_planner_, reward, &network, options_.margin),
                                   by_network(question, copies_planner_, reward, nullptr, options_.margin));
  if (figure) network_gate_.add(*figure, copies_.block_s());
}

std::optional<std::size_t> NetworkPolicy::choose(PolicyContext& context) {
  const Fleet& fleet = context.fleet();
  const PlannedAsk asked = options_.plan ? observe_planned(planner_, fleet, context.ask(), view_)
                                         : observe_unplanned(fleet, context.ask(), view_);
  q_.assign(asked.observation.nodes, 0.0F);
  if (network_ != nullptr) {
    const Shortlisted heard(*network_, options_.shortlist);
    if (gated()) compare(heard, context);
    if (!network_gate_.in_use())
      ++network_gated_;
    else
      heard.residual(asked.observation, q_);
  }
  const auto chosen = best_node(asked.observation, q_, asked.plan.pick, options_.margin);
  if (chosen) ++choices_;
  if (chosen != asked.plan.pick) ++deviations_;
  return chosen;
}

void NetworkPolicy::placed(const PodEvent& pod) {
  if (gated() && pod.node) copies_.placed(pod.key, *pod.node, pod.ask, pod.now_s);
}

void NetworkPolicy::ended(const PodEvent& pod) {
  if (gated() && !copies_.ended(pod.key, pod.now_s) && pod.node) copies_.ended_there(*pod.node, pod.ask, pod.now_s);
}

MadePolicy make_network_policy(const PolicyInfo& info, const NetworkOptions& options) {
  return std::make_unique<NetworkPolicy>(info, options);
}

namespace {

class HighestQ final : public Policy {
 public:
  using Policy::Policy;
  // Without computed values, the amortised watts are the prior (observe_unplanned).
  void score(PolicyContext& context, std::span<double> values) override {
    if (!context.q.empty()) {
      std::copy(context.q.begin(), context.q.end(), values.begin());
      return;
    }
    const PlannedAsk asked = observe_unplanned(context.fleet(), context.ask(), view_);
    for (std::size_t row = 0; row < values.size(); ++row)
      values[row] = static_cast<double>(asked.observation.prior[context.node(row)]);
  }

 private:
  ClusterView view_;
};

}  // namespace

MadePolicy make_highest_q(const PolicyInfo& info, const NetworkOptions&) { return std::make_unique<HighestQ>(info); }

}  // namespace wattle::placement
