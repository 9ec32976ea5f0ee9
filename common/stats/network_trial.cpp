#include "common/stats/network_trial.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace wattle::stats {

namespace {
constexpr std::array<std::string_view, 4> kNames{"candidate", "on_trial", "in_use", "withdrawn"};
constexpr std::array<std::string_view, 4> kWords{"is a candidate", "is on trial", "is in use", "is withdrawn"};
}  // namespace

std::string_view to_string(NetworkState state) { return kNames[static_cast<std::size_t>(state)]; }
std::string_view words(NetworkState state) { return kWords[static_cast<std::size_t>(state)]; }

NetworkState NetworkTrial::state() const {
  if (!gated_) return NetworkState::in_use;
  if (on_trial_) return NetworkState::on_trial;
  return changes_ > 0 ? NetworkState::withdrawn : NetworkState::candidate;
}

// The capital's growth is greatest, to the second order, at mean / mean square.
double NetworkTrial::stake(double sign) const {
  return std::clamp(sign * mean_ / std::max(square_, 1e-6), options_.least_stake, options_.largest_stake);
}

Cusum NetworkTrial::capital_of(bool gated, double level) const {
  return {0, std::log(gated ? options_.back_blocks : options_.run_blocks), level};
}

bool NetworkTrial::restore(const SavedTrial& saved) {
  const Cusum capital = capital_of(saved.network_gated, saved.evidence);
  const bool holds = capital.level() >= 0 && capital.level() < capital.limit() && std::abs(saved.mean) <= 1 &&
                     saved.mean_square >= 0 && saved.mean_square <= 1;
  const bool tried = std::isfinite(saved.trial_s) && saved.trial_s >= 0 && std::abs(saved.behind_s) <= saved.trial_s;
  const bool rests = saved.rest_s >= 0 && saved.rest_s <= options_.rest_s &&
                     (saved.rest_s == 0 || (saved.network_gated && !saved.on_trial));
  if (!holds || !tried || !rests) return false;
  gated_ = saved.network_gated;
  capital_ = capital;
  mean_ = saved.mean;
  square_ = saved.mean_square;
  blocks_ = saved.blocks;
  changes_ = saved.changes;
  on_trial_ = saved.on_trial;
  trial_s_ = saved.trial_s;
  behind_s_ = saved.behind_s;
  rest_s_ = saved.rest_s;
  return true;
}

// While not in use, the trial succeeds if its blocks cost no more so far. In use, it fails if it has cost too much.
bool NetworkTrial::trial_over(double difference, double block_s) {
  if (!on_trial_ || !(block_s >= 0) || !std::isfinite(block_s)) return false;
  trial_s_ += block_s;
  behind_s_ += difference * block_s;
  if (!gated_) return behind_s_ > options_.trial_loss_s;
  return blocks_ >= options_.trial_blocks && behind_s_ <= options_.trial_tolerance * trial_s_;
}

void NetworkTrial::rest(double block_s) {
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

bool NetworkTrial::add(double difference, double block_s) {
  if (!std::isfinite(difference)) return false;
  difference = std::clamp(difference, -1.0, 1.0);
  const double sign = gated_ ? -1.0 : 1.0;
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
  rest_s_ = tried && !enough && !gated_ ? options_.rest_s : 0;
  // A network that enters on a trial has not been shown to be ahead, so its cost counts from now on.
  on_trial_ = tried && !enough && gated_;
  trial_s_ = behind_s_ = 0;
  gated_ = !gated_;
  capital_ = capital_of(gated_);
  ++changes_;
  return true;
}

}  // namespace wattle::stats
