// learner: turns decisions, their real placements and outcomes into transitions, and transitions into gradient steps.
// Flow     placed() -> settled() -> n-step transitions between consecutive placements -> replay -> step()
// Learning Double DQN on models::QTrainer; discount exp(-dt/tau); masks are part of the observations; has no clock and
//          no thread
// Errors   step() forwards the trainer's
// Threads  single owner; the controller gives it a thread, tests and the simulator call it in lockstep
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "common/clock.hpp"
#include "common/result.hpp"
#include "models/frozen/trainer.hpp"
#include "placement/learn/replay.hpp"
#include "placement/learn/reward_centring.hpp"
#include "placement/worth/reward.hpp"

namespace wattle::placement {

struct LearnerFigures {
  std::uint64_t placed = 0, settled = 0, expired = 0;
  std::size_t replay = 0;
  std::uint64_t steps = 0;
  std::uint64_t steps_judged = 0;  // steps under the reward in force; the next three figures are means of these
  double loss = 0;                 // running mean of squared errors, in deviations of the rewards
  std::optional<double> td_error;  // root mean square, in rewards; no value before the first step
  double mean_q = 0;
  double centre = 0;       // in use
  double mean_reward = 0;  // of settled outcomes
};

class Learner {
 public:
  Learner(const LearnerOptions& options, const RewardConfig& reward, models::QTrainer& trainer);
  // Records that the pod runs on the node of this row. Call in order of time.
  void placed(std::uint64_t decision_id, models::Observation observation, std::uint32_t action, MonoTime when);
  // Records the outcome and returns its reward. Fails with not_found for unknown or expired ids.
  Result<Reward> settled(std::uint64_t decision_id, RawOutcome outcome);
  // Reports that no outcome will come (the pod ended before its first sample), so that later transitions need not wait
  // for the expiry. Ignores ids without a pending outcome.
  void lost(std::uint64_t decision_id);
  // Gives up on overdue outcomes.
  void expire(MonoTime now);
  // Takes one gradient step; nullopt while there is too little replay.
  Result<std::optional<models::StepStats>> step();
  // The transitions of the last step.
  std::span<const models::Transition> last_batch() const { return batch_; }
  // Relabels all experience.
  void set_reward(const RewardConfig& reward);
  const RewardConfig& reward() const { return reward_; }
  const LearnerFigures& figures() const { return figures_; }
  // Placements in order of time, with their outcomes.
  const std::deque<Experience>& chain() const { return replay_.chain(); }
  // Returns replay and raw outcomes for a checkpoint, so that learning continues after a restart.
  models::Weights save() const;
  Status restore(const models::Weights& saved);

 private:
  void count_replay(std::uint64_t given_up_before);
  // Restarts the running means; those of outcomes start from the kept experience.
  void begin_means();

  LearnerOptions options_;
  RewardConfig reward_;
  models::QTrainer& trainer_;
  Replay replay_;
  RewardCentring centring_;
  std::vector<models::Transition> batch_;  // reused between steps for its memory
  std::vector<ReturnSums> sums_;           // of the batch
  std::uint64_t outcomes_judged_ = 0;      // by the reward in force; the count behind mean_reward
  LearnerFigures figures_;
};

}  // namespace wattle::placement
