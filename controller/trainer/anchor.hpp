// anchor: keeps the learned network close to the trusted network: the last one that was shipped, loaded by name, or
// promoted.
// Method   after each training step, a step that pulls its choices towards the trusted network's in the same states
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
  // A trainer without a policy step (a table) is not anchored.
  explicit Anchor(models::QTrainer& trainer) : trainer_(dynamic_cast<models::PolicyTrainer*>(&trainer)) {}
  Status trust(const models::Weights& weights);
  // Removes the trusted network.
  void release() { network_.reset(); }
  bool holds() const { return trainer_ != nullptr && network_ != nullptr; }
  // Call after a training step on this batch.
  Status stepped(std::span<const models::Transition> batch);

 private:
  models::PolicyTrainer* trainer_;
  std::shared_ptr<const models::QNetwork> network_;
};

}  // namespace wattle::controller
