// reward_centring: what is taken from every reward, so that Q stays about differences and does not climb; and the unit that errors are told in.
// Source   the learner, from errors and level of Q (placement/learner; begun as the mean of a batch); the unit: how much what a
//          transition is paid varies, in rewards
// Errors   none
// Threads  single owner
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "models/frozen/trainer.hpp"
#include "placement/replay.hpp"

namespace wattle::placement {

class RewardCentring {
 public:
  // What is learned; begins anew with another reward.
  struct State {
    double centre = 0, spread2 = 0;  // of rewards; of what a transition is paid, squared
    std::uint64_t steps = 0;
  };

  // `fixed`: the centre, which is then not learned. `scale`: of rewards, after centring.
  RewardCentring(std::optional<double> fixed, double scale) : fixed_(fixed), scale_(scale) {}
  // Sets reward and unit of each transition by the sums of its own.
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
