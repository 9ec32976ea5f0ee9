#include "common/log_throttle.hpp"

#include <doctest/doctest.h>

using namespace wattle;
using namespace std::chrono_literals;

TEST_CASE("a repeated event is reported once per interval, with its count since") {
  LogThrottle once{60s};
  const MonoTime start = mono_from_ns(0);
  CHECK(once.note("a", start) == 1);
  for (int i = 1; i < 60; ++i) CHECK_FALSE(once.note("a", start + std::chrono::seconds(i)));
  CHECK(once.note("b", start + 1s) == 1);
  CHECK(once.note("a", start + 60s) == 60);
  CHECK_FALSE(once.note("a", start + 61s));
}

TEST_CASE("new keys above the capacity are not reported until there is room, so memory stays bounded") {
  LogThrottle once{60s, 10};
  const MonoTime start = mono_from_ns(0);
  int reported = 0;
  for (int i = 0; i < 1000; ++i)
    if (once.note(std::to_string(i), start)) ++reported;
  CHECK(reported == 10);
  CHECK(once.size() == 10);
  CHECK(once.note("late", start + 60s) == 1);
  CHECK(once.size() == 1);
}
