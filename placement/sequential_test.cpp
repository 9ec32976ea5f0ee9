#include "placement/sequential_test.hpp"

#include <algorithm>
#include <cmath>

namespace wattle::placement {

// The growth of capital is greatest, to the second order, at mean / mean square.
double SequentialTest::stake(double sign) const {
  constexpr double kLeast = 0.05;  // a bet that is never made never wins
  return std::clamp(sign * mean_ / std::max(square_, 1e-6), kLeast, options_.largest_stake);
}

stats::Cusum SequentialTest::capital_of(bool network_gated, double level) const {
  return {0, std::log(network_gated ? options_.back_blocks : options_.run_blocks), level};
}

bool SequentialTest::restore(const SequentialTestState& state) {
  const stats::Cusum capital = capital_of(state.network_gated, state.evidence);
  const bool holds = capital.level() >= 0 && capital.level() < capital.limit() && std::abs(state.mean) <= 1 &&
                     state.mean_square >= 0 && state.mean_square <= 1;
  if (!holds) return false;
  network_gated_ = state.network_gated;
  capital_ = capital;
  mean_ = state.mean;
  square_ = state.mean_square;
  blocks_ = state.blocks;
  changes_ = state.changes;
  return true;
}

bool SequentialTest::add(double difference) {
  if (!std::isfinite(difference)) return false;
  difference = std::clamp(difference, -1.0, 1.0);
  const double sign = network_gated_ ? -1.0 : 1.0;
  const bool enough = capital_.add(std::log1p(stake(sign) * sign * difference));
  ++blocks_;
  const double share = std::max(1 / options_.memory_blocks, 1 / static_cast<double>(blocks_ + 1));
  mean_ += share * (difference - mean_);
  square_ += share * (difference * difference - square_);
  if (!enough) return false;
  network_gated_ = !network_gated_;
  capital_ = capital_of(network_gated_);
  ++changes_;
  return true;
}

}  // namespace wattle::placement
