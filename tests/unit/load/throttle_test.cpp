// throttle: throttled traffic passes its level over a second or so, at any speed, and does not make up for a long halt.
#include "load/throttle.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

using namespace wattle;
using namespace wattle::load;
using namespace std::chrono_literals;

namespace {
constexpr Duration kTick = 10ms;

// A process that passes `speed` a second while it runs.
struct Runner {
  double speed = 0, passed = 0;
  void run(Throttle& throttle, int ticks) {
    for (int i = 0; i < ticks; ++i) passed += speed * seconds(throttle.slice(passed, kTick, kTick));
  }
};
}  // namespace

TEST_CASE("over a second it passes its level, from a hundredth to nearly its full speed") {
  CHECK(rc::check([] {
    const double level = *rc::gen::inRange(1, 1'000'000) / 100.0;
    const double speed = level * *rc::gen::inRange(110, 10'000) / 100.0;
    Throttle throttle(level);
    Runner runner{speed};
    runner.run(throttle, 500);
    const double before = runner.passed;
    runner.run(throttle, 100);
    RC_ASSERT(runner.passed - before > 0.85 * level);
    RC_ASSERT(runner.passed - before < 1.15 * level);
  }));
}

TEST_CASE("a process that cannot reach the level is never paused") {
  Throttle throttle(100);
  Runner runner{40};
  runner.run(throttle, 100);
  const double before = runner.passed;
  runner.run(throttle, 100);
  CHECK(runner.passed - before == doctest::Approx(40));
}

TEST_CASE("after a halt at most one second's worth is made up for") {
  Throttle throttle(100);
  Runner runner{1000};
  runner.run(throttle, 300);
  runner.speed = 0;
  runner.run(throttle, 1000);
  runner.speed = 1000;
  const double before = runner.passed;
  runner.run(throttle, 100);
  CHECK(runner.passed - before < 215);
  CHECK(runner.passed - before > 150);
}

TEST_CASE("a slice is within its tick, for any reported time") {
  CHECK(rc::check([](const std::vector<unsigned>& reported) {
    Throttle throttle(1000);
    for (const unsigned passed : reported) {
      const Duration slice = throttle.slice(passed, kTick, kTick);
      RC_ASSERT(slice >= Duration{});
      RC_ASSERT(slice <= kTick);
    }
  }));
}
