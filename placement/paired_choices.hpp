// paired_choices: the rules that are played against each other on copies of the cluster (placement/paired_simulation).
// Errors   none: without a plan, or where no node fits, nothing is chosen
// Threads  single owner; what they are given outlives them
#pragma once

#include <vector>

#include "models/frozen/q_network.hpp"
#include "placement/paired_simulation.hpp"
#include "placement/planner.hpp"

namespace wattle::placement {

// The network on the planner's view, as it serves: another node than the plan's must be better by `margin`, in Q. It alone
// minds who slows whom (placement/pair_cost). Null: the prior alone, which is the planner where nobody's latency counts.
PairedRule by_network(const PairedQuestion& question, Planner& planner, const RewardConfig& reward,
                      const models::QNetwork* network, double margin);
// The planner, with that trust in its expectations (Fleet::trust): at 0 it is the amortised rank.
PairedRule by_plan(const PairedQuestion& question, Planner& planner, double trust);

}  // namespace wattle::placement
