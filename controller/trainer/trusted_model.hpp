// trusted_model: the network that was shipped, loaded by name or promoted last. It serves as the baseline, and the
// network that learns stays close to it.
// Method   puts the trusted network into the slot, and pulls the learner towards it after each training step
//          (controller/trainer/anchor)
// Errors   trust: logged, and the previous network stays; stepped: those of the learner
// Threads  the trainer's
#pragma once

#include <optional>
#include <span>

#include "common/log.hpp"
#include "common/result.hpp"
#include "controller/trainer/anchor.hpp"
#include "controller/trainer/initial_network.hpp"
#include "controller/trainer/serving_model.hpp"
#include "models/frozen/checkpoint.hpp"
#include "models/frozen/trainer.hpp"
#include "placement/worth/reward.hpp"

namespace wattle::controller {

class TrustedModel {
 public:
  // `learner` and `slot` must outlive this object.
  TrustedModel(models::QTrainer& learner, ServingModel& slot, const Log& log)
      : learner_(learner), slot_(slot), log_(log), anchor_(learner) {}
  // `chosen`: an operator or a promotion chose it, so checkpoints keep it. False: the preset starts with it.
  void trust(const models::Weights& weights, const NetworkOrigin& origin, placement::Preset preset, bool chosen);
  // Removes the trusted network.
  void release();
  // Call after a training step on this batch.
  Status stepped(std::span<const models::Transition> batch) { return anchor_.stepped(batch); }

  bool present() const { return !weights_.empty(); }
  bool chosen() const { return chosen_; }
  const models::Weights& weights() const { return weights_; }
  const NetworkOrigin& origin() const { return origin_; }
  // Returns the entry in a manifest; no value if neither an operator nor a promotion chose it.
  std::optional<models::TrustedNetwork> described() const;

 private:
  models::QTrainer& learner_;
  ServingModel& slot_;
  const Log& log_;
  Anchor anchor_;
  models::Weights weights_;  // empty: no network is trusted
  NetworkOrigin origin_;
  bool chosen_ = false;
};

}  // namespace wattle::controller
