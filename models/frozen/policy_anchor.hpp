// policy_anchor: examples that pull a policy towards the choices of another: their cross-entropy is lowest if both make
// the same choices (it is KL(anchor, policy) plus a constant).
// Shapes   each target is softmax((prior + the anchor's residual) / temperature) over the state's valid nodes
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
