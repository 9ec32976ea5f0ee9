#include "shim/breaker.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

using namespace std::chrono_literals;
using wattle::Duration;
using wattle::ManualClock;
using wattle::MonoTime;
using wattle::shim::Breaker;
using wattle::shim::BreakerOptions;
using wattle::shim::BreakerState;

namespace {
const BreakerOptions kOptions{3, 100ms, 2s};

void open(Breaker& breaker) {
  for (unsigned i = 0; i < kOptions.misses; ++i) breaker.missed();
}
}  // namespace

TEST_CASE("misses in a row open the breaker, and an answer in between prevents that") {
  ManualClock clock;
  Breaker breaker(clock, kOptions);
  breaker.missed();
  breaker.missed();
  breaker.answered();
  breaker.missed();
  breaker.missed();
  CHECK(breaker.may_ask());
  breaker.missed();
  CHECK_FALSE(breaker.may_ask());
  CHECK(breaker.state() == BreakerState::open);
  CHECK(breaker.times_opened() == 1);
  breaker.answered();  // for an earlier ask: the next one would wait again
  CHECK_FALSE(breaker.may_ask());
}

TEST_CASE("after its pause there is one probe at a time, and its answer closes the breaker") {
  ManualClock clock;
  Breaker breaker(clock, kOptions);
  CHECK_FALSE(breaker.begin_probe());
  open(breaker);
  clock.advance(99ms);
  CHECK_FALSE(breaker.begin_probe());
  clock.advance(1ms);
  CHECK(breaker.begin_probe());
  CHECK(breaker.state() == BreakerState::half_open);
  CHECK_FALSE(breaker.may_ask());
  CHECK_FALSE(breaker.begin_probe());
  breaker.end_probe(true);
  CHECK(breaker.may_ask());
}

TEST_CASE("pauses double up to the limit while probes fail or closing has no effect, until an ask is answered") {
  ManualClock clock;
  Breaker breaker(clock, kOptions);
  open(breaker);
  for (const Duration pause : {Duration(100ms), Duration(200ms), Duration(400ms), Duration(800ms), Duration(1600ms),
                               Duration(2s), Duration(2s)}) {
    clock.advance(pause - 1ms);
    CHECK_FALSE(breaker.begin_probe());
    clock.advance(1ms);
    CHECK(breaker.begin_probe());
    breaker.end_probe(false);
  }
  clock.advance(2s);
  REQUIRE(breaker.begin_probe());
  breaker.end_probe(true);
  open(breaker);  // it answers probes in time, but not asks
  clock.advance(1999ms);
  CHECK_FALSE(breaker.begin_probe());
  clock.advance(1ms);
  REQUIRE(breaker.begin_probe());
  breaker.end_probe(true);
  breaker.answered();
  open(breaker);
  clock.advance(100ms);
  CHECK(breaker.begin_probe());
}

TEST_CASE("for any sequence, an open breaker permits at most one probe, and a recovered controller is found") {
  CHECK(rc::check([] {
    ManualClock clock;
    Breaker breaker(clock, kOptions);
    bool probing = false;
    const auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 6));
    for (const int step : steps) {
      const bool may = breaker.may_ask();
      if (step == 0) breaker.answered();
      if (step == 1) breaker.missed();
      if (step == 2) {
        const bool began = breaker.begin_probe();
        RC_ASSERT(!(began && (probing || may)));
        probing = probing || began;
      }
      if (step >= 3 && step <= 4 && probing) {
        breaker.end_probe(step == 3);
        probing = false;
        RC_ASSERT(breaker.may_ask() == (step == 3));
      }
      if (step == 5) clock.advance(50ms);
      RC_ASSERT((breaker.state() == BreakerState::half_open) == probing);
      // The breaker closes only by an answered probe, and opens only by misses.
      if (!may && breaker.may_ask()) RC_ASSERT(step == 3);
      if (may && !breaker.may_ask()) RC_ASSERT(step == 1);
    }
    // From any state it closes within the longest pause if the controller answers.
    if (probing) breaker.end_probe(true);
    clock.advance(kOptions.longest_pause);
    if (breaker.begin_probe()) breaker.end_probe(true);
    RC_ASSERT(breaker.may_ask());
  }));
}
