#include "common/clock.hpp"

#include <ctime>

#include "common/boot_time.hpp"

namespace wattle {

namespace {
Duration read_clock(clockid_t id) {
  timespec now{};
  clock_gettime(id, &now);  // cannot fail for these clocks
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}
}  // namespace

MonoTime SystemClock::mono() const { return MonoTime(read_clock(CLOCK_MONOTONIC)); }
WallTime SystemClock::wall() const { return WallTime(read_clock(CLOCK_REALTIME)); }

MonoTime BootClock::mono() const { return MonoTime(read_clock(CLOCK_BOOTTIME)); }
WallTime BootClock::wall() const { return WallTime(read_clock(CLOCK_REALTIME)); }

Duration suspended() { return read_clock(CLOCK_BOOTTIME) - read_clock(CLOCK_MONOTONIC); }
double boot_wall_s() { return seconds(read_clock(CLOCK_REALTIME) - read_clock(CLOCK_BOOTTIME)); }

}  // namespace wattle
