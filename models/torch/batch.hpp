// batch: lays out transitions as the padded arrays that training reads; reused, and grown to the largest batch.
// Copies only valid nodes, in order, so the width is the largest number of valid nodes. Padding repeats the first valid
// node: it does not change a maximum, and has weight 0 in a mean.
// Shapes   node [size x width x kNodeFeatures], ask [size x kAskFeatures], the rest below
// Errors   malformed or out_of_range, naming the transition by its position in the batch
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
  AlignedFloats share;               // [size x width] 1 / number of nodes, 0 for padding: weights of a mean
  std::vector<std::int64_t> action;  // [size] index among the valid nodes
  AlignedFloats prior;               // [size] prior of the action; in a policy batch [size x width], 0 for padding
  AlignedFloats target;              // [size x width], policy batches only
  AlignedFloats cost;                // policy batches only: 0 if not tried or unknown
  AlignedFloats barred;              // policy batches only: 0 if tried, otherwise -1e9

  // Checks each transition, then lays out the states. After an error the batch must not be used.
  Status assemble(std::span<const Transition* const> transitions);
  Status assemble(std::span<const PolicyExample* const> examples);

 private:
  // Writes node features, ask and share of one state to row b.
  void lay_out(const Observation& state, std::size_t b);
};

}  // namespace wattle::models
