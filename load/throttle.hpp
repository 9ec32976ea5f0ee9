// throttle: for how much of each tick something may run that computes, writes or sends as fast as it can, so that it keeps a level.
// Units    of what passes, CPU seconds or bytes, and those a second; tick and slice are time
// Errors   none
// Threads  pure; single owner
#pragma once

#include "common/clock.hpp"

namespace wattle::load {

class Throttle {
 public:
  // level_per_s > 0
  explicit Throttle(double level_per_s) : level_(level_per_s) {}
  // `passed` since the start, and `since_last` since the call before; gives how long it may run until the next call.
  // What could not be passed in a second is not made up for later.
  Duration slice(double passed, Duration since_last, Duration tick);

 private:
  double level_;
  double allowed_ = 0;               // what may still pass; below 0 where too many did
  double passed_ = 0;                // at the call before
  double running_s_ = 0, fast_ = 0;  // of late: for how long it ran, and how much passed then
  Duration last_{};                  // the slice before
};

}  // namespace wattle::load
