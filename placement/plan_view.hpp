// plan_view: what a plan says of one pod that waits; features and the prior are made of it (placement/features).
// Filled   by Planner::view; where no planner runs there is none, and features say so
// Units    in names; pods of the mean request
// Threads  values
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

namespace wattle::placement {

struct PlanView {
  struct Node {
    double left = 0;      // places on this node that the plan has open now
    double expected = 0;  // pods that are still likely to come here by the plan
    // 0: the plan's own choice; below it, in mean amortised watts (W0), how much the plan would rather not have this node.
    double preference = 0;
    double empties_s = 0;  // expected time until its last pod ends; 0: it is empty, infinity: pods stay
    // How wrong what is told of it has been, 0 where it is known: watts against its curve, its pods' use (FleetNode), the share that waited.
    double curve_error_w = 0, unsure_cores = 0, wait_error = 0;
    double wait_w = 0;  // that the pod adds there in waiting, at its price; 0 where waiting has none
  };
  std::vector<Node> nodes;             // one for each that was asked about, in that order; none: there is no plan
  std::optional<std::size_t> pick;     // index into the fleet's nodes
  std::optional<std::size_t> avoided;  // what would be picked if pods there and this one did not slow each other
  double demand_cores = 0;             // predicted mean of this pod
  double demand_quantile = 0;          // of the pods to come, 0 lightest
  double life_s = std::numeric_limits<double>::infinity();
  double expected_pods = 0;         // still to come; under churn, in the steady state
  double demand_error_cores = 0;    // deviation of pods like this one from what is predicted; 0: it is known
  double forecast_error_ratio = 0;  // as the fleet's
};

}  // namespace wattle::placement
