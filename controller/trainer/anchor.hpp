// anchor: keeps the learned network close to the trusted network: the last one that was shipped, loaded by name, or
// promoted.
// Method   every few training steps, a step that pulls its choices towards the trusted network's in the same states
// Errors   trust: malformed weights; the previous network stays trusted. hold: those of the trainer
// Threads  those of the trainer
#pragma once

#include <memory>
#include <span>

#include "common/result.hpp"
#include "models/frozen/q_network.hpp"
#include "models/frozen/trainer.hpp"

namespace wattle::controller {

class Anchor {
 public:
  // A trainer without a policy step (a table) is not anchored. every: steps; 0: never.
  Anchor(models::QTrainer& trainer, int every)
      : trainer_(dynamic_cast<models::PolicyTrainer*>(&trainer)), every_(every) {}
  Status trust(const models::Weights& weights);
  // Removes the trusted network.
  void release() { network_.reset(); }
  bool holds() const { return trainer_ != nullptr && network_ != nullptr && every_ > 0; }
  // Call after a training step on this batch.
  Status stepped(std::span<const models::Transition> batch);

 private:
  models::PolicyTrainer* trainer_;
  int every_, since_ = 0;
  std::shared_ptr<const models::QNetwork> network_;
};

}  // namespace wattle::controller
