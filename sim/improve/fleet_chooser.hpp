// fleet_chooser: chooses nodes of a replayed cluster with the planner, or with a network on the planner's view.
// Method   the network's choice is the node of highest prior + residual; the plan's own choice stays unless another is
//          better by at least the margin, as in a controller (placement/decide/policies/network)
// View     a network's input on a fleet, without telemetry. It equals what a controller gives the network for the
//          same knowledge
// Errors   none: no node fits -> no choice
// Threads  single owner; a copy continues from the same state and shares the network
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "models/frozen/q_network.hpp"
#include "placement/cluster/cluster_view.hpp"
#include "placement/cluster/fleet.hpp"
#include "placement/decide/policies/policy.hpp"
#include "placement/plan/planner.hpp"

namespace wattle::sim {

// Fills the part of a view that features use: no names, no telemetry except cores in use, and the fleet's curves.
void fill_view(const placement::Fleet& fleet, placement::ClusterView& view);

// The network's input for one waiting pod.
struct PlannedAsk {
  placement::PlanView plan;
  models::Observation observation;
};
PlannedAsk observe_planned(placement::Planner& planner, const placement::Fleet& fleet,
                           const placement::PodEstimate& ask, placement::ClusterView& scratch);

class FleetChooser {
 public:
  // `network` null: the planner's choice.
  explicit FleetChooser(std::shared_ptr<const models::QNetwork> network = nullptr,
                        const placement::NetworkOptions& options = {})
      : network_(std::move(network)), options_(options) {}
  std::optional<std::size_t> choose(const placement::Fleet& fleet, const placement::PodEstimate& ask);

 private:
  std::shared_ptr<const models::QNetwork> network_;
  placement::NetworkOptions options_;
  placement::Planner planner_{placement::PlannerOptions{}};
  placement::ClusterView view_;
  std::vector<float> q_;
};

}  // namespace wattle::sim
