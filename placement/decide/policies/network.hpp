// network: the learned network as a policy, and the input that it receives.
// Method   the planner's view of the pod gives features and prior (placement/worth/features). The node of highest prior
//          + residual wins, but the plan's own choice stays unless another is better by at least `margin`. A network
//          that has learned nothing (residual 0) therefore equals the planner
// Units    Q and margin in W0, the mean amortised watts per place of the nodes compared
// Errors   none: no node fits -> no choice; a residual that is not finite is 0 (models/frozen)
// Threads  single owner; the network is shared and immutable
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "common/stats/network_trial.hpp"
#include "models/frozen/q_network.hpp"
#include "placement/cluster/fleet.hpp"
#include "placement/decide/policies/policy.hpp"
#include "placement/judge/paired_simulation.hpp"
#include "placement/plan/planner.hpp"
#include "placement/worth/shortlist.hpp"

namespace wattle::placement {

// Fills the part of a view that features use: no names, no telemetry except cores in use, and the fleet's curves.
void fill_view(const Fleet& fleet, ClusterView& view);

// The network's input for one waiting pod.
struct PlannedAsk {
  PlanView plan;
  models::Observation observation;
};
PlannedAsk observe_planned(Planner& planner, const Fleet& fleet, const PodEstimate& ask, ClusterView& scratch);
// The same without a plan: the pod's predicted demand and life, and the amortised rank as prior.
PlannedAsk observe_unplanned(const Fleet& fleet, const PodEstimate& ask, ClusterView& scratch);

// On a view it ranks by the given q, which was computed with its plan. On a fleet alone it evaluates its own network;
// without one it is the plan's choice.
class NetworkPolicy final : public Policy {
 public:
  NetworkPolicy(const PolicyInfo& info, const NetworkOptions& options)
      : Policy(info), options_(options), network_gate_(options.gate.value_or(stats::NetworkTrialOptions{})) {}
  explicit NetworkPolicy(std::shared_ptr<const models::QNetwork> network, const NetworkOptions& options = {});

  void prepare(const Fleet& fleet) override { planner_.prepare(fleet); }
  void plan_with(PlanMaker* maker) override {
    planner_.plan_with(maker);
    copies_planner_.plan_with(maker);
  }
  std::optional<PlanView> plan_view(PolicyContext& context) override;
  void score(PolicyContext& context, std::span<double> values) override;
  std::optional<std::size_t> choose(PolicyContext& context) override;
  void placed(const PodEvent& pod) override;
  void ended(const PodEvent& pod) override;

  void set_network(std::shared_ptr<const models::QNetwork> network) { network_ = std::move(network); }
  // Counts on fleets since construction: choices, choices that differ from the plan's, and plan choices because of the
  // gate.
  std::uint64_t choices() const { return choices_; }
  std::uint64_t deviations() const { return deviations_; }
  std::uint64_t network_gated() const { return network_gated_; }
  const stats::NetworkTrial& network_gate() const { return network_gate_; }

 private:
  bool gated() const { return options_.gate && options_.plan; }
  void compare(const models::QNetwork& network, PolicyContext& context);

  NetworkOptions options_;
  std::shared_ptr<const models::QNetwork> network_;
  Planner planner_{PlannerOptions{}};
  Planner copies_planner_{PlannerOptions{}};  // separate, because plans for copies must not become the cluster's
  stats::NetworkTrial network_gate_;
  PairedSimulation copies_;
  ClusterView view_;
  std::vector<std::size_t> rows_;
  std::vector<float> q_;
  std::uint64_t choices_ = 0, deviations_ = 0, network_gated_ = 0;
};

}  // namespace wattle::placement
