// pair_cost: what it costs that applications slow each other where they share a node (placement/pair_excess), in watts of placing a pod
// Cost     a pod that waits for a share w of its time is there 1 / (1 - w) times as long: for w / (1 - w) of its time more it costs its
//          amortised watts, and its cores wait, at the fleet's price (placement/objective). Of the pod itself beside those who are
//          there, and of what each of them waits more because of it
// For      the network's policy, which goes by it where its network is heard; the planner knows nothing of it
// Units    watts; preferences in mean amortised watts (W0)
// Errors   none: 0 where nothing is known
// Threads  pure functions
#pragma once

#include <cstddef>
#include <span>

#include "placement/fleet.hpp"
#include "placement/plan_view.hpp"

namespace wattle::placement {

double added_pair_w(const Fleet& fleet, std::size_t node, const PodEstimate& ask);
// The plan's preferences less that, and its pick the one that is liked most then, of those that may take the pod. One of the view's nodes for
// each of `nodes`, in that order. Nothing changes where no pair costs anything.
void mind_pairs(const Fleet& fleet, const PodEstimate& ask, std::span<const std::size_t> nodes, PlanView& view);

}  // namespace wattle::placement
