#include "common/clock.hpp"

#include <ctime>

namespace wattle {

namespace {
Duration read_clock(clockid_t id) {
  timespec now{};
  clock_gettime(id, &now);  // cannot fail for these two clocks
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}
}  // namespace

MonoTime SystemClock::mono() const { return MonoTime(read_clock(CLOCK_MONOTONIC)); }
WallTime SystemClock::wall() const { return WallTime(read_clock(CLOCK_REALTIME)); }

}  // namespace wattle
