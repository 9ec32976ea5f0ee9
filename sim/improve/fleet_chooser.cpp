#include "sim/improve/fleet_chooser.hpp"

#include <string_view>

#include "placement/worth/features.hpp"
#include "placement/worth/shortlist.hpp"

namespace wattle::sim {

void fill_view(const placement::Fleet& fleet, placement::ClusterView& view) {
  view.nodes.resize(fleet.nodes.size());
  for (std::size_t i = 0; i < fleet.nodes.size(); ++i) {
    const placement::FleetNode& from = fleet.nodes[i];
    placement::NodeView& to = view.nodes[i];
    to.asleep = from.sleeps;
    to.wake_cost_j = from.wake_j;
    to.telemetry_age = Duration{};
    to.allocatable = from.allocatable;
    to.requested = from.requested;
    to.pod_capacity = from.pod_capacity;
    to.pods = from.pods;
    to.values.cpu_cores = from.allocatable.cpu_cores;
    to.values.cpu_used_cores = from.used_cores;
    if (to.curve.points() != from.watts) to.curve = placement::PowerCurve::known(from.watts);
  }
}

namespace {

models::Observation observe_fleet(const placement::Fleet& fleet, const placement::PodEstimate& ask,
                                  const placement::PlanView& plan, placement::ClusterView& scratch) {
  fill_view(fleet, scratch);
  placement::PodSpec pod;
  pod.request = ask.request;
  placement::RewardConfig reward;
  reward.horizon_s = fleet.hold_s;
  models::Observation seen =
      placement::observe(scratch, pod, std::vector<std::string_view>(fleet.nodes.size()), reward, &plan);
  for (std::size_t i = 0; i < fleet.nodes.size(); ++i) seen.valid[i] = placement::fits(fleet.nodes[i], ask) ? 1 : 0;
  return seen;
}

}  // namespace

PlannedAsk observe_planned(placement::Planner& planner, const placement::Fleet& fleet,
                           const placement::PodEstimate& ask, placement::ClusterView& scratch) {
  PlannedAsk asked;
  asked.plan = planner.view(fleet, ask);
  asked.observation = observe_fleet(fleet, ask, asked.plan, scratch);
  return asked;
}

std::optional<std::size_t> FleetChooser::choose(const placement::Fleet& fleet, const placement::PodEstimate& ask) {
  if (network_ == nullptr) return planner_.choose(fleet, ask);
  const PlannedAsk asked = observe_planned(planner_, fleet, ask, view_);
  q_.assign(asked.observation.nodes, 0.0F);
  placement::Shortlisted(*network_, options_.shortlist).residual(asked.observation, q_);
  return placement::best_node(asked.observation, q_, asked.plan.pick, options_.margin);
}

}  // namespace wattle::sim
