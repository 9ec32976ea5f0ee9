// train: online learning in the simulated loop, with the code of live learning: decide -> bind -> outcome -> learner ->
// step.
// Flow     episodes on seeds seed, seed + 1, ... (all below kFirstValidationSeed), one experience chain through all of
//          them
// Units    in names; seconds of the run
// Errors   forwards the trainer's and the world's; out_of_range for seeds beyond the training range
// Threads  single owner
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "common/result.hpp"
#include "models/frozen/trainer.hpp"
#include "placement/learn/learner.hpp"
#include "sim/env/evaluate.hpp"

namespace wattle::sim {

// State to continue a training, between two episodes.
struct TrainState {
  models::Weights trainer;  // QTrainer::checkpoint
  models::Weights learner;  // placement::Learner::save
  std::uint64_t decisions = 0, episodes = 0;
  std::uint64_t next_id = 0;  // of decisions
  double clock_s = 0;
};

struct TrainOptions {
  EnvOptions env;
  std::uint64_t seed = 1;
  std::uint64_t decisions = 20'000;
  double epsilon_first = 0.2, epsilon_last = 0.02;  // linear over the first half
  double safe_margin = 1e9;                         // in simulation any feasible node may be tried
  std::uint64_t decisions_per_step = 1;             // decisions between gradient steps
  std::uint64_t refresh_every = 25;                 // decisions between frozen networks
  placement::LearnerOptions learner;
  std::optional<TrainState> resume;  // continues from there, up to `decisions` in total
};

// Options that work here (lab/docs/learning.md): ten steps, rewards centred on the prior's own reward on
// training seeds, and a discount with a horizon of that many decisions.
placement::LearnerOptions working_learner_options(const EnvOptions& env, double horizon_decisions = 100);

struct TrainProgress {
  std::uint64_t decisions = 0, episodes = 0;
  double epsilon = 0;
  double episode_reward = 0;  // mean of the last whole episode, including exploration
  placement::LearnerFigures learner;
};

struct TrainResult {
  models::Weights weights;
  TrainState state;
  TrainProgress last;
  std::uint64_t seed = 0;        // train_best: of the restart that was kept
  double validation_reward = 0;  // train_best: its greedy mean reward on validation seeds
};

Result<TrainResult> train(const TrainOptions& options, models::QTrainer& trainer,
                          const std::function<void(const TrainProgress&)>& on_episode = {});

// Trains once per trainer, each on its own training seeds, and keeps the restart of highest greedy mean reward over the
// first validation seeds, because results depend strongly on the seed.
inline constexpr std::uint64_t kSeedsPerRestart = 1000;
Result<TrainResult> train_best(TrainOptions options, std::span<models::QTrainer* const> trainers,
                               std::size_t validation_episodes,
                               const std::function<void(const TrainProgress&)>& on_episode = {});

}  // namespace wattle::sim
