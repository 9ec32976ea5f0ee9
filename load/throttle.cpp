#include "load/throttle.hpp"

#include <algorithm>

namespace wattle::load {

namespace {
constexpr Duration kFirst = std::chrono::milliseconds(2), kLeast = std::chrono::microseconds(200);
constexpr double kKept = 0.9;  // weight of earlier ticks, per tick in which it runs
}  // namespace

Duration Throttle::slice(double passed_by_now, Duration since_last, Duration tick) {
  const double passed = std::max(passed_by_now - passed_, 0.0);
  passed_ += passed;
  allowed_ = std::min(allowed_ + level_ * seconds(since_last), level_) - passed;
  if (last_ > Duration{}) {
    running_s_ = kKept * running_s_ + seconds(last_);
    fast_ = kKept * fast_ + passed;
  }
  const double wanted = allowed_ + level_ * seconds(tick) / 2;  // exact in the middle of the tick
  if (wanted <= 0)
    last_ = {};
  else if (fast_ <= 0)
    last_ = std::min(kFirst, tick);
  else
    last_ =
        std::clamp(from_seconds(std::min(wanted * running_s_ / fast_, seconds(tick))), std::min(kLeast, tick), tick);
  return last_;
}

}  // namespace wattle::load
