// pair_cost: the cost in watts of placing a pod beside applications that slow it, or that it slows
// (placement/cluster/pair_excess).
// Cost     a pod that waits for a share w of its time lives 1 / (1 - w) times as long. It costs w / (1 - w) of its
//          amortised watts in addition, and its cores wait at the fleet's price (placement/worth/objective). Covers the
//          pod itself beside its neighbours and the additional waiting of each neighbour
// Used by  the planner, and so by every policy that has a plan or its costs
// Units    watts; preferences in mean amortised watts (W0)
// Errors   none: 0 where pairs are unknown
// Threads  pure functions
#pragma once

#include <cstddef>
#include <span>

#include "placement/cluster/fleet.hpp"
#include "placement/worth/plan_view.hpp"

namespace wattle::placement {

double added_pair_w(const Fleet& fleet, std::size_t node, const PodEstimate& ask);
// Subtracts the pair cost from the plan's preferences and picks the most preferred of the nodes that may take the pod.
// The view has one node for each of `nodes`, in that order. Leaves the view unchanged if no pair costs anything.
void apply_pair_cost(const Fleet& fleet, const PodEstimate& ask, std::span<const std::size_t> nodes, PlanView& view);

}  // namespace wattle::placement
