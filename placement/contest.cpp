#include "placement/contest.hpp"

#include <algorithm>
#include <cmath>

namespace wattle::placement {

// The growth of capital is greatest, to the second order, at mean / mean square.
double Contest::stake(double sign) const {
  constexpr double kLeast = 0.05;  // a bet that is never made never wins
  return std::clamp(sign * mean_ / std::max(square_, 1e-6), kLeast, options_.largest_stake);
}

double Contest::limit() const { return std::log(left_out_ ? options_.back_blocks : options_.run_blocks); }

bool Contest::restore(const ContestState& state) {
  const double most = std::log(state.left_out ? options_.back_blocks : options_.run_blocks);
  const bool holds = state.evidence >= 0 && state.evidence < most && std::abs(state.mean) <= 1 &&
                     state.mean_square >= 0 && state.mean_square <= 1;
  if (!holds) return false;
  left_out_ = state.left_out;
  capital_ = state.evidence;
  mean_ = state.mean;
  square_ = state.mean_square;
  blocks_ = state.blocks;
  changes_ = state.changes;
  return true;
}

bool Contest::add(double difference) {
  if (!std::isfinite(difference)) return false;
  difference = std::clamp(difference, -1.0, 1.0);
  const double sign = left_out_ ? -1.0 : 1.0;
  capital_ = std::max(0.0, capital_) + std::log1p(stake(sign) * sign * difference);
  ++blocks_;
  const double share = std::max(1 / options_.memory_blocks, 1 / static_cast<double>(blocks_ + 1));
  mean_ += share * (difference - mean_);
  square_ += share * (difference * difference - square_);
  if (capital_ < limit()) return false;
  left_out_ = !left_out_;
  capital_ = 0;
  ++changes_;
  return true;
}

}  // namespace wattle::placement
