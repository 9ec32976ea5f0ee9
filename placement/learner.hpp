// learner: turns decisions, their real placements and outcomes into transitions, and transitions into gradient steps.
// Flow     placed() -> settled() -> n-step transitions between consecutive placements -> replay -> step()
// Learning Double DQN on models::QTrainer; discount exp(-dt/tau); masks travel in the observations; no clock and no
//          thread here
// Errors   step() forwards the trainer's
// Threads  single owner; the app gives it a thread, tests and the simulator call it in lockstep
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "common/clock.hpp"
#include "common/result.hpp"
#include "models/frozen/trainer.hpp"
#include "placement/replay.hpp"
#include "placement/reward.hpp"
#include "placement/reward_centring.hpp"

namespace wattle::placement {

struct LearnerFigures {
  std::uint64_t placed = 0, settled = 0, expired = 0;
  std::size_t replay = 0;
  std::uint64_t steps = 0;
  std::uint64_t steps_judged = 0;  // of them under the reward in force: what the next three are means of
  double loss = 0;                 // running means; of errors in deviations of what a transition is paid
  double td_error = 0;             // root mean square, in rewards
  double mean_q = 0;
  double centre = 0;       // in force
  double mean_reward = 0;  // of settled outcomes
};

class Learner {
 public:
  Learner(const LearnerOptions& options, const RewardConfig& reward, models::QTrainer& trainer);
  // The pod really is on the node of this row; placements come in the order of time.
  void placed(std::uint64_t decision_id, models::Observation observation, std::uint32_t action, MonoTime when);
  // What became of it; gives the reward. Unknown or expired ids are not found.
  Result<Reward> settled(std::uint64_t decision_id, RawOutcome outcome);
  // No outcome will come (the pod went before a sample told of it): what waits behind it need not wait for the expiry.
  // Ids that wait for none are left alone.
  void lost(std::uint64_t decision_id);
  // Gives up on outcomes that are too late.
  void expire(MonoTime now);
  // One gradient step, once there is enough replay; nullopt before.
  Result<std::optional<models::StepStats>> step();
  // What the last step was taken on.
  std::span<const models::Transition> last_batch() const { return batch_; }
  // The world has changed: half of each batch is drawn from what was placed from then on, until something is placed after `until`.
  void favour(MonoTime since, MonoTime until) { replay_.favour(since, until); }
  // All experience is judged anew.
  void set_reward(const RewardConfig& reward);
  const RewardConfig& reward() const { return reward_; }
  const LearnerFigures& figures() const { return figures_; }
  // Placements in the order of time, with what became of them.
  const std::deque<Experience>& chain() const { return replay_.chain(); }
  // Replay and raw outcomes, for checkpoints: restored on start, so that learning goes on.
  models::Weights save() const;
  Status restore(const models::Weights& saved);

 private:
  void count_replay(std::uint64_t given_up_before);
  // The running means begin again: those of outcomes with what is kept.
  void begin_means();

  LearnerOptions options_;
  RewardConfig reward_;
  models::QTrainer& trainer_;
  Replay replay_;
  RewardCentring centring_;
  std::vector<models::Transition> batch_;  // kept between steps for its memory
  std::vector<ReturnSums> sums_;           // of the batch
  std::uint64_t outcomes_judged_ = 0;      // by the reward in force: what mean_reward is a mean of
  LearnerFigures figures_;
};

}  // namespace wattle::placement
