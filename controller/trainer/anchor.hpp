// anchor: holds the network that learns to the one that was trusted last: what came with the programs, was loaded by name or promoted.
// Method   after every so many steps of learning one that draws its choices in the same states to the trusted one's (models/frozen/policy_anchor)
// Errors   trust: malformed weights, and what was trusted before goes on; hold: as the trainer's
// Threads  the trainer's
#pragma once

#include <memory>
#include <span>

#include "common/result.hpp"
#include "models/frozen/q_network.hpp"
#include "models/frozen/trainer.hpp"

namespace wattle::controller {

class Anchor {
 public:
  // A trainer that cannot be drawn to choices (a table) is not held. every: steps; 0: never.
  Anchor(models::QTrainer& trainer, int every)
      : trainer_(dynamic_cast<models::PolicyTrainer*>(&trainer)), every_(every) {}
  Status trust(const models::Weights& weights);
  // Nothing is trusted any more.
  void release() { network_.reset(); }
  bool holds() const { return trainer_ != nullptr && network_ != nullptr && every_ > 0; }
  // A step was taken on this batch.
  Status stepped(std::span<const models::Transition> batch);

 private:
  models::PolicyTrainer* trainer_;
  int every_, since_ = 0;
  std::shared_ptr<const models::QNetwork> network_;
};

}  // namespace wattle::controller
