// deepsets: evaluates the network on flat weights, without gradients.
//   node     e_i = relu(W relu(W x_i))
//   ask      p = relu(W [pod, context])
//   shared   s = [mean e, max e, p], over the valid nodes
//   head     A_i = w relu(W [e_i, s]) and V = w relu(W s)
//   residual r_i = V + A_i - mean A, over the valid nodes; 0 for the others
// Takes any number of nodes in any order: permuting the nodes permutes the residual; invalid nodes change nothing.
// Shapes   flat [kParameters] (layout.hpp), out [nodes]
// Errors   none; a residual that is not finite (extreme features) becomes 0, so that the prior alone decides
// Threads  any; scratch memory is per thread and grows to the largest observation seen
// Cost     20 kFLOP per valid node
#pragma once

#include <span>

#include "models/frozen/kernels.hpp"
#include "models/frozen/q_network.hpp"

namespace wattle::models {

void evaluate(const Kernels& kernels, std::span<const float> flat, const Observation& observation,
              std::span<float> out);

}  // namespace wattle::models
