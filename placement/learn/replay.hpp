// replay: stores placements in order of time with their outcomes, and builds n-step transitions from them.
// Flow     add() -> settle() -> transitions between consecutive placements -> draw()
// Bounds   replay_capacity transitions, max_bytes of experience, max_rows nodes of one observation; the oldest is
//          dropped first
// Draws    uniform. The clock and the gradient are in placement/learn/learner
// Errors   settle(): not_found
// Threads  single owner
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <random>
#include <span>

#include "common/clock.hpp"
#include "common/result.hpp"
#include "models/frozen/trainer.hpp"
#include "placement/worth/reward.hpp"

namespace wattle::placement {

struct LearnerOptions {
  std::uint64_t seed = 1;
  std::size_t replay_capacity = 50'000;
  std::size_t batch = 64;
  std::size_t warmup = 128;  // transitions before the first step
  std::size_t n_step = 3;
  double tau_s = 300;  // discount = exp(-dt/tau); below 0: exp(1/tau) per placement, at any pace
  double reward_scale = 1.0;
  // Subtracted from every reward before scaling, so that Q stays near the prior at long horizons. Unset: learned, as
  // the reward that would leave no mean temporal-difference error (value-based reward centring: Naik, Wan, Tomar,
  // Sutton 2024).
  std::optional<double> reward_centre;
  double settle_expiry_s = 120;  // a later outcome is lost, and counted
  std::size_t max_rows = 64;     // per stored observation: the action, and others drawn at random, feasible ones first
  std::size_t shortlist = 10;    // NetworkOptions::shortlist; learning uses the rows that the network ranked
  std::size_t max_bytes = std::size_t{512} << 20;  // of experience; the oldest is dropped first
};

// A placement in the chain, with its outcome. Stored raw, so that another reward can relabel it.
struct Experience {
  std::uint64_t decision_id = 0;
  MonoTime when{};
  models::Observation observation;
  std::uint32_t action = 0;
  std::optional<RawOutcome> outcome;
  bool expired = false;        // no outcome arrived in time
  bool after_restart = false;  // the clock restarted: earlier entries do not bootstrap from here
  double reward = 0;           // by the current RewardConfig
  bool end_of_episode = false;
};

// Returns the memory that it occupies.
std::size_t bytes_of(const Experience& experience);

// Sums over the rewards of a transition, discounted, not centred.
struct ReturnSums {
  double rewards = 0, discounts = 0;
};

class Replay {
 public:
  explicit Replay(const LearnerOptions& options);
  // Adds a placement: the pod runs on the node of this row. Call in order of time.
  void add(std::uint64_t decision_id, models::Observation observation, std::uint32_t action, MonoTime when);
  // Records the outcome and returns its reward. Fails with not_found for unknown or expired ids.
  Result<double> settle(std::uint64_t decision_id, RawOutcome outcome, const RewardConfig& reward);
  // Reports that no outcome will come. Ignores ids without a pending outcome.
  void lose(std::uint64_t decision_id);
  // Gives up on overdue outcomes.
  void expire(MonoTime now);
  // Relabels all experience.
  void judge_by(const RewardConfig& reward);
  // Fills the batch with transitions and the sums that determine their returns. Requires at least one transition. Does
  // not set rewards.
  void draw(std::span<models::Transition> batch, std::span<ReturnSums> sums);

  std::size_t size() const { return links_.size(); }    // number of transitions
  std::uint64_t given_up() const { return given_up_; }  // outcomes that never arrived, since construction
  const std::deque<Experience>& chain() const { return chain_; }
  std::uint64_t first() const { return first_; }  // number of the oldest entry since the start of the chain
  const std::mt19937_64& generator() const { return random_; }
  // Restores the values of chain(), first() and generator().
  void restore(std::deque<Experience> chain, std::uint64_t first, const std::mt19937_64& generator);

 private:
  // A transition as indices into the chain; observations are copied only when sampled.
  struct Link {
    std::uint64_t first = 0;  // number of the experience since the start of the chain
    std::uint32_t ahead = 0;  // distance to the experience with the next state; 0: end of episode
    float reward = 0;         // sum, not centred
    float discounts = 0;      // sum of the discounts of its rewards
    float discount = 0;
  };
  enum class Growth { pending, none, made };

  models::Observation shrink(models::Observation observation, std::uint32_t& action);
  void give_up(Experience& experience);
  Experience* waiting(std::uint64_t decision_id);
  void grow();
  void rebuild();
  Growth make_link(std::size_t first, Link& link) const;
  void drop_oldest();
  void trim();

  LearnerOptions options_;
  std::mt19937_64 random_;
  std::deque<Experience> chain_;  // in order of time; the newest may be unsettled
  std::uint64_t first_ = 0;
  std::size_t grown_ = 0;  // entries before this index have their transition
  std::size_t bytes_ = 0;  // of chain_
  std::deque<Link> links_;
  std::uint64_t given_up_ = 0;
};

// Sets the experience's reward from its outcome. The reward is finite.
void judge(Experience& experience, const RewardConfig& reward);

}  // namespace wattle::placement
