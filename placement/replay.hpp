// replay: placements in the order of time, with what became of them, and the n-step transitions that they make.
// Flow     add() -> settle() -> transitions between consecutive placements -> draw()
// Bounds   replay_capacity transitions, max_bytes of experience, max_rows nodes of one observation; the oldest goes first
// Draws    uniform; half of a batch from what is favoured, while something is. No clock, no gradient: placement/learner has those
// Errors   settle(): not_found
// Threads  single owner
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <random>
#include <span>
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

// Sums over the rewards of a transition, discounted, not centred.
struct ReturnSums {
  double rewards = 0, discounts = 0;
};

class Replay {
 public:
  explicit Replay(const LearnerOptions& options);
  // The pod really is on the node of this row; placements come in the order of time.
  void add(std::uint64_t decision_id, models::Observation observation, std::uint32_t action, MonoTime when);
  // What became of it, judged by `reward`. Unknown or expired ids are not found. What it is paid.
  Result<double> settle(std::uint64_t decision_id, RawOutcome outcome, const RewardConfig& reward);
  // No outcome will come; ids that wait for none are left alone.
  void lose(std::uint64_t decision_id);
  // Gives up on outcomes that are too late.
  void expire(MonoTime now);
  // All experience is judged anew.
  void judge_by(const RewardConfig& reward);
  // Half of each batch is drawn from what was placed from `since` on, until something is placed after `until`.
  void favour(MonoTime since, MonoTime until) { favoured_ = Favoured{since, until}; }
  // Fills as many transitions as there are, and the sums that each is paid by; there must be some to draw from. Rewards are left as they are.
  void draw(std::span<models::Transition> batch, std::span<ReturnSums> sums);

  std::size_t size() const { return links_.size(); }    // transitions
  std::uint64_t given_up() const { return given_up_; }  // outcomes that never came, since the beginning of this object
  const std::deque<Experience>& chain() const { return chain_; }
  std::uint64_t first() const { return first_; }  // number of the chain's first, since its beginning
  const std::mt19937_64& generator() const { return random_; }
  // Takes over what chain(), first() and generator() gave.
  void restore(std::deque<Experience> chain, std::uint64_t first, const std::mt19937_64& generator);

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

  models::Observation shrink(models::Observation observation, std::uint32_t& action);
  void give_up(Experience& experience);
  Experience* waiting(std::uint64_t decision_id);
  // Index of the first favoured transition; the end: none is.
  std::size_t first_favoured() const;
  void grow();
  void rebuild();
  Growth make_link(std::size_t first, Link& link) const;
  void drop_oldest();
  void trim();

  LearnerOptions options_;
  std::mt19937_64 random_;
  std::deque<Experience> chain_;  // in order of time; the newest may be unsettled
  std::uint64_t first_ = 0;
  std::size_t grown_ = 0;  // chain_ entries before this have had their transition made
  std::size_t bytes_ = 0;  // of chain_
  std::deque<Link> links_;
  std::optional<Favoured> favoured_;
  std::uint64_t given_up_ = 0;
};

// The reward of an outcome, as transitions are paid by it: finite.
void judge(Experience& experience, const RewardConfig& reward);

}  // namespace wattle::placement
