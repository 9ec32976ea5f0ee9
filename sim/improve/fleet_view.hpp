// fleet_view: a network's input on a fleet alone, without telemetry, for training on a replayed cluster. It equals what
// a controller gives the network for the same knowledge.
// Errors   none
// Threads  pure functions, except for the planner and the scratch view
#pragma once

#include "models/frozen/q_network.hpp"
#include "placement/cluster/cluster_view.hpp"
#include "placement/cluster/fleet.hpp"
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

}  // namespace wattle::sim
