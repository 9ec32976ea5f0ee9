// wall_step: steps of the wall clock (NTP, an operator, a machine that was suspended), and the times that move with
// them: limits and rests then last as long as without the step, and no measured duration contains it.
// Restart  a step while the program does not run looks like time that passed
// Units    wall time
// Errors   none
// Threads  single owner
#pragma once

#include <chrono>
#include <optional>

#include "common/clock.hpp"
#include "placement/sleep/power_state.hpp"

namespace wattle::placement::sleep {

struct WallStep {
  WallTime from{};  // the time before the step
  Duration by{};
  // A time that the clock had not reached before the step was stored before an earlier step back; it stays.
  WallTime moved(WallTime at) const { return at > from ? at : at + by; }
  void move(NodePowerRecord& record) const {
    record.since = moved(record.since);
    for (std::optional<WallTime>* each : {&record.ordered, &record.last_slept, &record.last_woken})
      if (*each) *each = moved(**each);
  }
};

class WallSteps {
 public:
  // A smaller one is a clock that is adjusted while it runs, or two clocks that are not read at once.
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

}  // namespace wattle::placement::sleep
