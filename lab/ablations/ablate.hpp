// ablate: measures the value of each setting of online learning (Double DQN in the simulated loop). Changes one setting
// at a time, trains from several seeds and evaluates greedily on held-out seeds.
// Pairing   the same training seeds and the same held-out seeds for all. A difference is between the mean rewards of
//           one training seed with and without the change; the interval is over training seeds
// Errors    the trainer's and the world's
// Threads   single owner; the same options give the same figures
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/frozen/trainer.hpp"
#include "sim/env/statistics.hpp"
#include "sim/env/train.hpp"

namespace wattle::sim {

struct LoopVariant {
  std::string_view name, what;
  double horizon_decisions = 4;
  std::size_t n_step = 1;
  std::size_t replay = 50'000;
  std::vector<std::string_view> silent;  // node features that the network does not get
  bool pretrained = false;               // starts from AblateLoopOptions::initial
};
// Returns the variants; the first is the unchanged one.
std::span<const LoopVariant> loop_variants();

struct LoopRow {
  std::string_view name, what;
  double reward = 0;           // mean over training and held-out seeds
  double least = 0, most = 0;  // over the training seeds
  // Mean reward minus that of the unchanged variant, and of untrained weights (the prior alone).
  Interval over_whole, over_initial;
};

struct AblateLoopOptions {
  EnvOptions env;
  std::uint64_t first_seed = 1;
  std::uint64_t decisions = 3000;
  std::size_t seeds = 5, judged_on = 10;
  std::optional<models::Weights> initial;  // unset: skips the pretrained variant
};

// Makes a trainer that starts from `initial`, or from its seed's weights. Provided by callers with a machine learning
// framework.
using MakeTrainer = std::function<Result<std::unique_ptr<models::QTrainer>>(
    std::uint64_t seed, const std::optional<models::Weights>& initial)>;

// Makes a trainer without these node features: they are 0 in every batch, and so are their weights.
Result<std::unique_ptr<models::QTrainer>> deaf_trainer(const MakeTrainer& make, std::uint64_t seed,
                                                       std::span<const std::string_view> silent);

Result<std::vector<LoopRow>> ablate(const AblateLoopOptions& options, const MakeTrainer& make,
                                    const std::function<void(std::string_view)>& on_done = {});

}  // namespace wattle::sim
