#include "common/http/guess_delay.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace std::chrono_literals;
using wattle::ManualClock;
using wattle::http::GuessDelay;

TEST_CASE("a peer's first wrong tokens have no delay, and later ones a growing delay up to a limit") {
  GuessDelay delay;
  const ManualClock clock;
  for (int i = 0; i < GuessDelay::kFree; ++i) CHECK(delay.wrong("192.0.2.1", clock.mono()) == 0ms);
  CHECK(delay.wrong("192.0.2.1", clock.mono()) == GuessDelay::kStep);
  CHECK(delay.wrong("192.0.2.1", clock.mono()) == 2 * GuessDelay::kStep);
  for (int i = 0; i < 1000; ++i) CHECK(delay.wrong("192.0.2.1", clock.mono()) <= GuessDelay::kMost);
  CHECK(delay.wrong("192.0.2.1", clock.mono()) == GuessDelay::kMost);
}

TEST_CASE("wrong tokens are forgotten one by one") {
  GuessDelay delay;
  ManualClock clock;
  for (int i = 0; i < 1000; ++i) delay.wrong("192.0.2.1", clock.mono());
  clock.advance(2 * GuessDelay::kForgotten);
  CHECK(delay.wrong("192.0.2.1", clock.mono()) == GuessDelay::kMost - GuessDelay::kStep);
  clock.advance(1000 * GuessDelay::kForgotten);
  CHECK(delay.wrong("192.0.2.1", clock.mono()) == 0ms);
}
