// throttle: computes for how much of each tick an unlimited process may run to keep a given level of CPU, disk or
// network use.
// Units    CPU seconds or bytes, and those per second; tick and slice are durations
// Errors   none
// Threads  pure; single owner
#pragma once

#include "common/clock.hpp"

namespace wattle::load {

class Throttle {
 public:
  // Requires level_per_s > 0.
  explicit Throttle(double level_per_s) : level_(level_per_s) {}
  // Takes the amount used since the start and the time since the last call; returns how long the process may run until
  // the next call. A deficit of more than a second is not made up for.
  Duration slice(double passed, Duration since_last, Duration tick);

 private:
  double level_;
  double allowed_ = 0;               // amount still allowed; negative after too much use
  double passed_ = 0;                // at the last call
  double running_s_ = 0, fast_ = 0;  // recent: time that it ran, and amount used then
  Duration last_{};                  // last slice
};

}  // namespace wattle::load
