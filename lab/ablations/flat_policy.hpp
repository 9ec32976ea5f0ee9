// flat_policy: baseline to DeepSets for ablations: a dense network with two hidden layers whose input is all nodes in
// order. Its maximum number of nodes is fixed, and another order of nodes is another input.
// Errors   out_of_range: options, more nodes than it was made for; as torch_trainer for a step
// Threads  single owner
#pragma once

#include <memory>

#include "models/frozen/q_network.hpp"
#include "models/frozen/trainer.hpp"

namespace wattle::models {

// Supports only imitate(): step(), weights() and others fail or return empty values.
class FlatPolicy : public PolicyTrainer {
 public:
  // Copy of the current network: the residual of each node.
  virtual std::shared_ptr<const QNetwork> network() const = 0;
};
Result<std::unique_ptr<FlatPolicy>> make_flat_policy(const TrainerOptions& options, std::size_t most_nodes,
                                                     std::size_t hidden = 64);

}  // namespace wattle::models
