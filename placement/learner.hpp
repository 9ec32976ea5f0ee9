// learner: turns decisions, their real placements and outcomes into transitions, and transitions into gradient steps.
// Flow     placed() -> settled() -> n-step transitions between consecutive placements -> replay -> step()
// Learning Double DQN on models::QTrainer; discount exp(-dt/tau); masks travel in the observations; no clock and no
//          thread here
// Bounds   replay_capacity transitions, max_bytes of experience, max_rows nodes of one observation
// Errors   step() forwards the trainer's
// Threads  single owner; the app gives it a thread, tests and the simulator call it in lockstep
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <span>
#include <utility>
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
  // Taken from every reward before scaling, so that Q stays about the prior at long horizons. Absent: learned, as the reward that would
  // leave no temporal-difference error on average (value-based reward centring: Naik, Wan, Tomar, Sutton 2024).
  std::optional<double> reward_centre;
  double settle_expiry_s = 120;  // an outcome later than this is lost, and counted
  std::size_t max_rows = 64;     // of one kept observation: the action, and others drawn at random, feasible ones first
  std::size_t shortlist = 10;    // NetworkOptions::shortlist: what the network was shown is what it learns on
  std::size_t max_bytes = std::size_t{512} << 20;  // of experience; the oldest goes first
};

// One placement in the chain, with what it became. Kept raw so that another reward relabels it.
struct Experience {
  std::uint64_t decision_id = 0;
  MonoTime when{};
  models::Observation observation;
  std::uint32_t action = 0;
  std::optional<RawOutcome> outcome;
  bool expired = false;        // no outcome came in time
  bool after_restart = false;  // the clock began anew: nothing before bootstraps from here
  double reward = 0;           // by the present RewardConfig
  bool end_of_episode = false;
};

// Memory that it holds.
std::size_t bytes_of(const Experience& experience);

struct LearnerFigures {
  std::uint64_t placed = 0, settled = 0, expired = 0;
  std::size_t replay = 0;
  std::uint64_t steps = 0;
  double loss = 0;      // running means; of errors in deviations of what a transition is paid
  double td_error = 0;  // root mean square, in rewards
  double mean_q = 0;
  double centre = 0;       // in force
  double mean_reward = 0;  // of settled outcomes
};

// What rewards are told from; begins anew with another reward.
struct Centring {
  double centre = 0, spread2 = 0;  // of rewards; of what a transition is paid, squared
  std::uint64_t steps = 0;
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
  void favour(MonoTime since, MonoTime until) { favoured_ = Favoured{since, until}; }
  // All experience is judged anew.
  void set_reward(const RewardConfig& reward);
  const RewardConfig& reward() const { return reward_; }
  const LearnerFigures& figures() const { return figures_; }
  // Placements in the order of time, with what became of them.
  const std::deque<Experience>& chain() const { return chain_; }
  // Replay and raw outcomes, for checkpoints: restored on start, so that learning goes on.
  models::Weights save() const;
  Status restore(const models::Weights& saved);

 private:
  // A transition, as a place in the chain: observations are copied only when sampled.
  struct Link {
    std::uint64_t first = 0;  // number of the experience since the start of the chain
    std::uint32_t ahead = 0;  // next state is that of the experience so many later; 0: end of episode
    float reward = 0;         // sum, not centred
    float discounts = 0;      // sum of those of its rewards
    float discount = 0;
  };
  enum class Growth { pending, none, made };

  struct Favoured {
    MonoTime since{}, until{};
  };
  void draw_batch();
  double pay_batch();  // mean of the sums of discounts
  // Index of the first favoured transition; the end: none is.
  std::size_t first_favoured() const;
  void judge(Experience& experience) const;
  void grow_transitions();
  void rebuild_transitions();
  Experience* waiting(std::uint64_t decision_id);
  Growth make_link(std::size_t first, Link& link) const;
  void drop_oldest();
  void trim();
  models::Observation shrink(models::Observation observation, std::uint32_t& action);

  LearnerOptions options_;
  RewardConfig reward_;
  models::QTrainer& trainer_;
  std::mt19937_64 random_;
  std::deque<Experience> chain_;  // in order of time; the newest may be unsettled
  std::uint64_t first_ = 0;       // number of chain_.front()
  std::size_t grown_ = 0;         // chain_ entries before this have had their transition made
  std::size_t bytes_ = 0;         // of chain_
  std::deque<Link> replay_;
  std::optional<Favoured> favoured_;
  std::vector<models::Transition> batch_;         // kept between steps for its memory
  std::vector<std::pair<double, double>> drawn_;  // of the batch: sums of rewards, and of their discounts
  Centring centring_;
  LearnerFigures figures_;
};

}  // namespace wattle::placement
