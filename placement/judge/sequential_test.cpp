#include "placement/judge/sequential_test.hpp"

#include <algorithm>
#include <cmath>

namespace wattle::placement {

// The capital's growth is greatest, to the second order, at mean / mean square.
double SequentialTest::stake(double sign) const {
  constexpr double kLeast = 0.05;  // a bet of zero could never win
  return std::clamp(sign * mean_ / std::max(square_, 1e-6), kLeast, options_.largest_stake);
}

stats::Cusum SequentialTest::capital_of(bool network_gated, double level) const {
  return {0, std::log(network_gated ? options_.back_blocks : options_.run_blocks), level};
}

bool SequentialTest::restore(const SequentialTestState& state) {
  const stats::Cusum capital = capital_of(state.network_gated, state.evidence);
  const bool holds = capital.level() >= 0 && capital.level() < capital.limit() && std::abs(state.mean) <= 1 &&
                     state.mean_square >= 0 && state.mean_square <= 1;
  const bool tried = std::isfinite(state.trial_s) && state.trial_s >= 0 && std::abs(state.behind_s) <= state.trial_s;
  const bool rests = state.rest_s >= 0 && state.rest_s <= options_.rest_s &&
                     (state.rest_s == 0 || (state.network_gated && !state.on_trial));
  if (!holds || !tried || !rests) return false;
  network_gated_ = state.network_gated;
  capital_ = capital;
  mean_ = state.mean;
  square_ = state.mean_square;
  blocks_ = state.blocks;
  changes_ = state.changes;
  on_trial_ = state.on_trial;
  trial_s_ = state.trial_s;
  behind_s_ = state.behind_s;
  rest_s_ = state.rest_s;
  return true;
}

// While gated: the trial succeeds if its blocks cost no more so far. While in use: it fails if it has cost too much.
bool SequentialTest::trial_over(double difference, double block_s) {
  if (!on_trial_ || !(block_s >= 0) || !std::isfinite(block_s)) return false;
  trial_s_ += block_s;
  behind_s_ += difference * block_s;
  if (!network_gated_) return behind_s_ > options_.trial_loss_s;
  return blocks_ >= options_.trial_blocks && behind_s_ <= options_.trial_tolerance * trial_s_;
}

void SequentialTest::rest(double block_s) {
  if (!rests() || !(block_s >= 0)) return;
  rest_s_ -= block_s;
  if (rests()) return;
  rest_s_ = 0;
  mean_ = 0;
  square_ = 1;
  blocks_ = 0;
  capital_ = capital_of(true);
  on_trial_ = true;
}

bool SequentialTest::add(double difference, double block_s) {
  if (!std::isfinite(difference)) return false;
  difference = std::clamp(difference, -1.0, 1.0);
  const double sign = network_gated_ ? -1.0 : 1.0;
  const bool enough = capital_.add(std::log1p(stake(sign) * sign * difference));
  ++blocks_;
  const double share = std::max(1 / options_.memory_blocks, 1 / static_cast<double>(blocks_ + 1));
  mean_ += share * (difference - mean_);
  square_ += share * (difference * difference - square_);
  const bool tried = trial_over(difference, block_s);
  if (!enough && !tried) {
    rest(block_s);
    return false;
  }
  rest_s_ = tried && !enough && !network_gated_ ? options_.rest_s : 0;
  // A network that enters on a trial has not been shown to be ahead, so its cost counts from now on.
  on_trial_ = tried && !enough && network_gated_;
  trial_s_ = behind_s_ = 0;
  network_gated_ = !network_gated_;
  capital_ = capital_of(network_gated_);
  ++changes_;
  return true;
}

}  // namespace wattle::placement
