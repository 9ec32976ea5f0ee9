// frozen_network: an immutable network for serving. A newer network is a new object.
// Shapes   see deepsets.hpp
// Errors   malformed, naming the tensor that is missing, unknown, of another shape or not finite
// Threads  immutable: residual() from any thread at once
#pragma once

#include <memory>

#include "common/result.hpp"
#include "models/frozen/aligned.hpp"
#include "models/frozen/kernels.hpp"
#include "models/frozen/q_network.hpp"

namespace wattle::models {

class FrozenNetwork final : public QNetwork {
 public:
  // Errors name `subject`: the file of the weights, or their trainer. `on_prior` as in QNetwork.
  static Result<std::shared_ptr<const FrozenNetwork>> from_weights(const Weights& weights, std::uint64_t step,
                                                                   const std::string& subject = "network weights",
                                                                   bool on_prior = true);
  void residual(const Observation& observation, std::span<float> out) const override;
  std::uint64_t step() const override { return step_; }
  bool on_prior() const override { return on_prior_; }

 private:
  FrozenNetwork(AlignedFloats flat, std::uint64_t step, bool on_prior);
  AlignedFloats flat_;
  std::uint64_t step_;
  bool on_prior_;
  const Kernels& kernels_;
};

}  // namespace wattle::models
