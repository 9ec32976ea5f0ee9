#include "placement/judge/drift.hpp"

#include <algorithm>
#include <cmath>

namespace wattle::placement {

void Drift::begin_anew() {
  cusum_.begin_anew();
  mean_ = square_ = 0;
  seen_ = 0;
}

bool Drift::restore(const DriftState& state) {
  const auto within = [&](double level) { return level >= 0 && level <= options_.limit; };
  if (!std::isfinite(state.mean) || !(state.mean_square >= 0) || !within(state.up) || !within(state.down)) return false;
  mean_ = state.mean;
  square_ = state.mean_square;
  cusum_ = {options_.slack, options_.limit, state.up, state.down};
  seen_ = state.seen;
  shifts_ = state.shifts;
  return true;
}

bool Drift::add(double error) {
  if (!std::isfinite(error)) return false;
  constexpr double kCut = 3;
  const double deviation = std::sqrt(std::max(square_, 1e-12));
  const double away = error - mean_;
  if (seen_ >= options_.least) {
    const double z = std::clamp(away / deviation, -kCut, kCut);
    if (cusum_.add(z)) {
      begin_anew();
      ++shifts_;
      return true;
    }
  }
  ++seen_;
  // An outlier must not widen the normal range.
  const double taken = seen_ > options_.least ? std::clamp(away, -kCut * deviation, kCut * deviation) : away;
  const double share = std::max(1 / options_.memory, 1 / static_cast<double>(seen_));
  mean_ += share * taken;
  square_ += share * ((1 - share) * taken * taken - square_);
  return false;
}

}  // namespace wattle::placement
