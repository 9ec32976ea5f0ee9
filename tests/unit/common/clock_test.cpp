#include "common/clock.hpp"

#include <doctest/doctest.h>

#include "common/boot_time.hpp"

using namespace wattle;
using namespace std::chrono_literals;

TEST_CASE("a manual clock stands still until it is advanced") {
  ManualClock clock(mono_from_ns(5), wall_from_ns(100));
  CHECK(to_ns(clock.mono()) == 5);
  CHECK(to_ns(clock.mono()) == 5);
  clock.advance(2us);
  CHECK(to_ns(clock.mono()) == 2005);
  CHECK(to_ns(clock.wall()) == 2100);
}

TEST_CASE("a manual clock never goes back, but its wall clock may jump") {
  ManualClock clock(mono_from_ns(1000));
  clock.advance_to(mono_from_ns(500));
  CHECK(to_ns(clock.mono()) == 1000);
  clock.advance_to(mono_from_ns(1500));
  CHECK(to_ns(clock.mono()) == 1500);
  clock.step_wall(-1h);
  CHECK(to_ns(clock.mono()) == 1500);
  CHECK(to_ns(clock.wall()) == 500 - 3'600'000'000'000);
}

TEST_CASE("the system's monotonic clock does not go back") {
  const SystemClock clock;
  MonoTime last = clock.mono();
  for (int i = 0; i < 1000; ++i) {
    const MonoTime now = clock.mono();
    CHECK(now >= last);
    last = now;
  }
  CHECK(to_ns(clock.wall()) > 1'500'000'000'000'000'000);
}

TEST_CASE("the boot clock is never behind the clock that stops during a suspend") {
  const MonoTime before = SystemClock().mono();
  CHECK(BootClock().mono() >= before);
  CHECK(to_ns(BootClock().wall()) > 1'500'000'000'000'000'000);
}

TEST_CASE("conversions between seconds and durations are inverse") {
  CHECK(seconds(1500ms) == 1.5);
  CHECK(from_seconds(0.25) == Duration(250ms));
  CHECK(from_seconds(seconds(Duration(123456789))) == Duration(123456789));
}
