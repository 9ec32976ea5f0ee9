// batch: transitions laid out as the padded arrays that training reads; kept, and grown to the largest batch.
// Only valid nodes are copied, in their order, so the width is the largest number of valid nodes. Padding repeats the
// first of them: a maximum does not notice, and in a mean it weighs nothing.
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
  AlignedFloats share;               // [size x width] 1 / number of nodes, 0 for padding: the weights of a mean
  std::vector<std::int64_t> action;  // [size] index among the valid nodes
  AlignedFloats prior;               // [size] of the action; of a policy batch [size x width], 0 for padding
  AlignedFloats target;              // [size x width], policy batches only
  AlignedFloats cost;                // likewise: 0 where not tried or not told
  AlignedFloats barred;              // likewise: 0 where tried, else -1e9

  // Checks each transition whole, then lays out the states. On an error the batch must not be used.
  Status assemble(std::span<const Transition* const> transitions);
  Status assemble(std::span<const PolicyExample* const> examples);

 private:
  // Node features, ask and share of one state as row b.
  void lay_out(const Observation& state, std::size_t b);
};

}  // namespace wattle::models
