// torch_trainer: implementation of models/frozen/trainer.hpp with libtorch's autograd; no libtorch type appears here.
//   Q = prior + residual (models/frozen/deepsets.hpp); the prior is data and gets no gradient
//   loss = mean Huber(Q(s, a) - r - discount Q_target(s', argmax over valid of Q_online(s', .)))
//   imitate: loss = mean KL(target, softmax(Q / temperature)) over the tried nodes
//   then clipping by norm and Adam (0.9, 0.999, 1e-8); the target network follows by Polyak averaging
// The same seed and batches give bit-identical weights on one machine: it uses one thread, and only the initial weights
// are random. Creating a trainer sets libtorch's and OpenBLAS's threads to 1 for the whole process.
// Errors   out_of_range (an option, an empty batch), malformed (a transition or tensor, named);
//          a step that fails, or whose loss or gradient is not finite, changes nothing
// Threads  single owner
#pragma once

#include <memory>
#include <optional>

#include "models/frozen/trainer.hpp"

namespace wattle::models {

// Starts from `initial` if set, otherwise from initial_weights(options.seed).
Result<std::unique_ptr<QTrainer>> make_torch_trainer(const TrainerOptions& options,
                                                     const std::optional<Weights>& initial = std::nullopt);

// Same trainer; imitate() updates the same weights and moments, and does not change the target network.
Result<std::unique_ptr<PolicyTrainer>> make_torch_policy_trainer(const TrainerOptions& options,
                                                                 const std::optional<Weights>& initial = std::nullopt);

}  // namespace wattle::models
