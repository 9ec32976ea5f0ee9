// reward_centring: subtracts a learned centre from every reward, so that Q represents differences and does not drift
// upwards, and keeps the unit in which errors are reported.
// Source   the learner, from errors and level of Q (placement/learn/learner; initially the mean of a batch); the unit:
//          the spread of a transition's return, in rewards
// Errors   none
// Threads  single owner
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "models/frozen/trainer.hpp"
#include "placement/learn/replay.hpp"

namespace wattle::placement {

class RewardCentring {
 public:
  // Learned state; resets with another reward.
  struct State {
    double centre = 0, spread2 = 0;  // of rewards; squared, of a transition's return
    std::uint64_t steps = 0;
  };

  // `fixed`: a centre that is not learned. `scale`: of rewards, after centring.
  RewardCentring(std::optional<double> fixed, double scale) : fixed_(fixed), scale_(scale) {}
  // Sets reward and unit of each transition from its sums.
  void pay(std::span<models::Transition> batch, std::span<const ReturnSums> sums);
  double centre() const { return fixed_.value_or(state_.centre); }
  const State& state() const { return state_; }
  void restore(const State& state) { state_ = state; }

 private:
  std::optional<double> fixed_;
  double scale_;
  State state_;
};

}  // namespace wattle::placement
