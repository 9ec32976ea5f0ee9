// plan_view: a plan's view of one waiting pod; the input of features and prior (placement/worth/features).
// Filled   by Planner::view; without a planner there is none, and a feature flag shows it
// Units    in names; pods of the mean request
// Threads  values
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

namespace wattle::placement {

// Least margin, in W0, by which another node must beat the plan's where the network's residual is flat. The prior then
// differs from the plan only by latency, and its noise must not reorder nodes whose costs in the plan differ by
// little.
inline constexpr double kSilentMargin = 0.1;

struct PlanView {
  struct Node {
    double left = 0;      // places on this node that the plan has open now
    double expected = 0;  // pods that the plan still expects here
    // 0 for the plan's own choice; below it, in mean amortised watts (W0), by how much the plan prefers its choice.
    double preference = 0;
    double empties_s = 0;  // expected time until its last pod ends; 0: it is empty, infinity: pods stay
    // Past errors of the node's data, 0 if exact: watts against its curve, its pods' usage (FleetNode), the waited
    // share.
    double curve_error_w = 0, uncertain_cores = 0, wait_error = 0;
    double wait_w = 0;  // waiting that the pod adds there, at its price; 0 without a price
  };
  std::vector<Node> nodes;             // one per requested node, in that order; empty: there is no plan
  std::optional<std::size_t> pick;     // index into the fleet's nodes
  std::optional<std::size_t> avoided;  // the pick if this pod and its neighbours did not slow each other
  double demand_cores = 0;             // predicted mean of this pod
  double demand_quantile = 0;          // among the expected pods, 0 lightest
  double life_s = std::numeric_limits<double>::infinity();
  double expected_pods = 0;         // still expected to arrive; under churn, in the steady state
  double demand_error_cores = 0;    // deviation of similar pods from the prediction; 0: exact
  double forecast_error_ratio = 0;  // as in Fleet
};

}  // namespace wattle::placement
