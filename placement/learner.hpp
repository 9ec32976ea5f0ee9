// learner: turns decisions, their real placements and outcomes into transitions, and transitions into gradient steps.
// Flow     placed() -> settled() -> n-step transitions between consecutive placements -> replay -> step()
// Learning Double DQN on models::QTrainer; discount exp(-dt/tau); masks travel in the observations; no clock and no
//          thread here
// Errors   step() forwards the trainer's
// Threads  single owner; the app gives it a thread, tests and the simulator call it in lockstep
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <vector>

#include "common/clock.hpp"
#include "common/result.hpp"
#include "models/frozen/trainer.hpp"
#include "placement/reward.hpp"

namespace wattle::placement {

struct LearnerOptions {
  std::uint64_t seed = 1;
  std::size_t replay_capacity = 50'000;
  std::size_t batch = 64;
  std::size_t warmup = 128;  // transitions before the first step
  std::size_t n_step = 3;
  double tau_s = 300;  // discount = exp(-dt/tau)
  double reward_scale = 1.0;
  double settle_expiry_s = 120;  // an outcome later than this is lost, and counted
};

// One placement in the chain, with what it became. Kept raw so that another reward relabels it.
struct Experience {
  std::uint64_t decision_id = 0;
  MonoTime when{};
  models::Observation observation;
  std::uint32_t action = 0;
  std::optional<RawOutcome> outcome;
};

struct LearnerFigures {
  std::uint64_t placed = 0, settled = 0, expired = 0;
  std::size_t replay = 0;
  std::uint64_t steps = 0;
  double loss = 0;  // running means
  double mean_q = 0;
  double mean_reward = 0;  // of settled outcomes
};

class Learner {
 public:
  Learner(const LearnerOptions& options, const RewardConfig& reward, models::QTrainer& trainer);
  // The pod really is on the node of this row; placements come in the order of time.
  void placed(std::uint64_t decision_id, models::Observation observation, std::uint32_t action, MonoTime when);
  // What became of it; gives the reward. Unknown or expired ids are not found.
  Result<Reward> settled(std::uint64_t decision_id, RawOutcome outcome);
  // Gives up on outcomes that are too late.
  void expire(MonoTime now);
  // One gradient step, once there is enough replay; nullopt before.
  Result<std::optional<models::StepStats>> step();
  // All experience is judged anew.
  void set_reward(const RewardConfig& reward);
  const RewardConfig& reward() const { return reward_; }
  const LearnerFigures& figures() const { return figures_; }
  // Replay and raw outcomes, for checkpoints: restored on start, so that learning goes on.
  models::Weights save() const;
  Status restore(const models::Weights& saved);

 private:
  void grow_transitions();
  void rebuild_transitions();
  std::optional<models::Transition> make_transition(std::size_t first) const;

  LearnerOptions options_;
  RewardConfig reward_;
  models::QTrainer& trainer_;
  std::mt19937_64 random_;
  std::deque<Experience> chain_;  // in order of time; the newest may be unsettled
  std::size_t grown_ = 0;         // chain_ entries before this have had their transition made
  std::deque<models::Transition> replay_;
  LearnerFigures figures_;
};

}  // namespace wattle::placement
