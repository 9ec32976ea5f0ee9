// time_left: the remaining time of a call's limit, for a driver that takes several steps.
// Units    ms
// Errors   none
// Threads  as the clock
#pragma once

#include <algorithm>
#include <chrono>

#include "common/clock.hpp"

namespace wattle::controller::power {

class TimeLeft {
 public:
  TimeLeft(const Clock& clock, std::chrono::milliseconds limit)
      : clock_(clock), limit_(limit), until_(clock.mono() + limit) {}
  std::chrono::milliseconds left() const {
    const Duration rest = std::max(until_ - clock_.mono(), Duration::zero());
    return std::chrono::duration_cast<std::chrono::milliseconds>(rest);
  }
  std::chrono::milliseconds limit() const { return limit_; }
  const Clock& clock() const { return clock_; }

 private:
  const Clock& clock_;
  const std::chrono::milliseconds limit_;
  const MonoTime until_;
};

}  // namespace wattle::controller::power
