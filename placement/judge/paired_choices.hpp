// paired_choices: the rules that compete on copies of the cluster (placement/judge/paired_simulation).
// Errors   none: without a plan, or if no node fits, a rule chooses no node
// Threads  single owner; arguments must outlive the rules
#pragma once

#include <vector>

#include "models/frozen/q_network.hpp"
#include "placement/judge/paired_simulation.hpp"
#include "placement/plan/planner.hpp"

namespace wattle::placement {

// The network on the planner's view, as it serves: it deviates from the plan only for a node that is better by
// `margin`, in Q. `network` null: the prior alone, which equals the planner unless latency counts.
PairedRule by_network(const PairedQuestion& question, Planner& planner, const RewardConfig& reward,
                      const models::QNetwork* network, double margin);

}  // namespace wattle::placement
