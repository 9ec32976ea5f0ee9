// wall_step: steps of the wall clock (NTP, an operator, a machine that was suspended), and the times that move with
// them: limits and rests last as long as without the step, and no measured duration contains it.
// Restart  a step while the program does not run looks like time that passed
// Units    wall time; the functions that end in _s take seconds of Unix time, where 0 means never
// Errors   none
// Threads  single owner
#pragma once

#include <chrono>
#include <optional>

#include "common/clock.hpp"

namespace wattle {

struct WallStep {
  WallTime from{};  // the time before the step
  Duration by{};
  // A time that the clock had not reached before the step was stored before an earlier step back, and stays.
  WallTime moved(WallTime at) const { return at > from ? at : at + by; }
  void move_s(double& at_s) const {
    if (at_s != 0 && at_s <= static_cast<double>(to_ns(from)) * 1e-9) at_s += seconds(by);
  }
  // Moves a time that may be in the future: the end of a rest.
  void move_end_s(double& end_s) const {
    if (end_s != 0) end_s += seconds(by);
  }
};

class WallSteps {
 public:
  // A smaller difference means a clock that is slewed, or two clocks that were not read at the same time.
  static constexpr Duration kStep = std::chrono::seconds(2);

  // Returns the step since the last call, if there was one.
  std::optional<WallStep> take(const Clock& clock) {
    const MonoTime mono = clock.mono();
    const WallTime wall = clock.wall();
    const WallTime expected = wall_ + (mono - mono_);
    const bool stepped = known_ && (wall - expected >= kStep || expected - wall >= kStep);
    known_ = true;
    mono_ = mono;
    wall_ = wall;
    return stepped ? std::optional(WallStep{expected, wall - expected}) : std::nullopt;
  }

 private:
  bool known_ = false;
  MonoTime mono_{};
  WallTime wall_{};
};

}  // namespace wattle
