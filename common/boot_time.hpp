// boot_time: the time at which this machine booted, and for how long it has been suspended since. procfs has the first
// too (btime), but hides it from a unit with ProcSubset=pid.
// Source   CLOCK_REALTIME minus CLOCK_BOOTTIME; moves with the wall clock. CLOCK_BOOTTIME minus CLOCK_MONOTONIC
// Units    seconds of Unix time; Duration
// Errors   none
// Threads  any; defined in clock.cpp, the only place that reads a clock
#pragma once

#include "common/clock.hpp"

namespace wattle {

double boot_wall_s();
Duration suspended();

// A system clock whose monotonic time includes the time for which the machine was suspended: ages and validities count
// it. Its times must not be mixed with those of a SystemClock.
class BootClock final : public Clock {
 public:
  MonoTime mono() const override;
  WallTime wall() const override;
};

}  // namespace wattle
