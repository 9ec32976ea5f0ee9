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
  if (!holds) return false;
  gated_ = saved.network_gated;
  capital_ = capital;
  mean_ = saved.mean;
  square_ = saved.mean_square;
  blocks_ = saved.blocks;
  changes_ = saved.changes;
  return true;
}

bool NetworkTrial::add(double difference) {
  if (!std::isfinite(difference)) return false;
  difference = std::clamp(difference, -1.0, 1.0);
  const double sign = gated_ ? -1.0 : 1.0;
  const bool enough = capital_.add(std::log1p(stake(sign) * sign * difference));
  ++blocks_;
  const double share = std::max(1 / options_.memory_blocks, 1 / static_cast<double>(blocks_ + 1));
  mean_ += share * (difference - mean_);
  square_ += share * (difference * difference - square_);
  if (!enough) return false;
  gated_ = !gated_;
  capital_ = capital_of(gated_);
  ++changes_;
  return true;
}

}  // namespace wattle::stats
