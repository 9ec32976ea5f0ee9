// policy_anchor: what draws a policy to another one's choices: cross-entropy with these examples is least where both choose alike (it is
// KL(anchor, policy) and a constant).
// Shapes   of each state target is softmax((prior + the anchor's residual) / temperature) over its valid nodes
// Errors   none: a state without a valid node gives no example
// Threads  pure function
#pragma once

#include <span>
#include <vector>

#include "models/frozen/q_network.hpp"
#include "models/frozen/trainer.hpp"

namespace wattle::models {

std::vector<PolicyExample> policy_anchor(const QNetwork& anchor, std::span<const Transition> batch, double temperature);

}  // namespace wattle::models
