// boot_time: the time at which this machine was started. procfs has it too (btime), but not for a unit with
// ProcSubset=pid.
// Source   CLOCK_REALTIME minus CLOCK_BOOTTIME; moves with the wall clock
// Units    seconds of Unix time
// Errors   none
// Threads  any; defined in clock.cpp, the only place that reads a clock
#pragma once

namespace wattle {

double boot_wall_s();

}  // namespace wattle
