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
