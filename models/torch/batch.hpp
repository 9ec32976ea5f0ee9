// batch: transitions laid out as the padded arrays that training reads; the arrays are kept and grow to the largest
// batch. Only valid nodes are copied, in their order, so the width is the largest number of valid nodes and masks are
// prefixes.
// Shapes   node [size x width x kNodeFeatures], ask [size x kAskFeatures], the rest below
// Errors   malformed or out_of_range, naming the transition by its place in the batch
// Threads  single owner
#pragma once

#include <cstdint>
#include <span>

#include "common/result.hpp"
#include "models/frozen/aligned.hpp"
#include "models/frozen/trainer.hpp"

namespace wattle::models {

struct Batch {
  std::size_t size = 0;
  std::size_t width = 0;
  AlignedFloats node;
  AlignedFloats ask;                 // pod, then context
  AlignedFloats mask;                // [size x width] 1 = a node, 0 = padding
  AlignedFloats share;               // [size x width] mask / number of nodes: weights of a mean over nodes
  std::vector<std::int64_t> action;  // [size] index among the valid nodes
  AlignedFloats prior;               // [size] of the action

  // Checks each transition whole, then lays out the states. On an error the batch must not be used.
  Status assemble(std::span<const Transition* const> transitions);
};

}  // namespace wattle::models
