// flat_policy: what DeepSets is compared with: all nodes, in their order, as one long input of a plain dense network of two hidden
// layers. It takes as many nodes as it was made for and no more, and another order is another input. For ablations alone.
// Errors   out_of_range: options, more nodes than it was made for; as torch_trainer for a step
// Threads  single owner
#pragma once

#include <memory>

#include "models/frozen/q_network.hpp"
#include "models/frozen/trainer.hpp"

namespace wattle::models {

// imitate() alone: step(), weights() and the like are unsupported or empty.
class FlatPolicy : public PolicyTrainer {
 public:
  // A copy of what it says now: the residual of each node.
  virtual std::shared_ptr<const QNetwork> network() const = 0;
};
Result<std::unique_ptr<FlatPolicy>> make_flat_policy(const TrainerOptions& options, std::size_t most_nodes,
                                                     std::size_t hidden = 64);

}  // namespace wattle::models
