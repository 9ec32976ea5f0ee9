// regression_monitor and output_check: the rate of false alarms, and the delay of true ones.
#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "controller/rollout/output_check.hpp"
#include "controller/rollout/regression_monitor.hpp"

using namespace wattle;
using namespace wattle::controller;

namespace {

double normal(std::mt19937_64& random, double mean = 0) { return std::normal_distribution<double>(mean, 1)(random); }

}  // namespace

TEST_CASE("there is at most one false alarm in 20,000 placements, whatever the distribution of rewards") {
  // Runs of 20,000 placements, each with its own control placements and one of three reward distributions.
  constexpr int kRuns = 60, kPlacements = 20'000;
  int alarms = 0;
  std::mt19937_64 random(11);
  for (int run = 0; run < kRuns; ++run) {
    const auto draw = [&]() -> double {
      const double z = normal(random);
      if (run % 3 == 0) return z;
      if (run % 3 == 1) return -std::exp(1.5 * z);  // rare disasters
      return z > 0 ? 1 : 0;                         // only ties
    };
    RegressionOptions options;
    RegressionMonitor guard(options);
    for (std::size_t i = 0; i < options.least; ++i) guard.control(draw());
    for (int i = 0; i < kPlacements; ++i) {
      if (!guard.acting(draw())) continue;
      ++alarms;
      guard.restart(false);
    }
  }
  MESSAGE(alarms, " false alarms in ", kRuns, " runs of ", kPlacements, " placements");
  CHECK(alarms < kRuns);
}

TEST_CASE("placements that are worse by one and a half standard deviations raise an alarm within fifty") {
  std::mt19937_64 random(13);
  int within = 0;
  constexpr int kRuns = 200;
  for (int run = 0; run < kRuns; ++run) {
    RegressionMonitor guard;
    for (int i = 0; i < 600; ++i) guard.control(normal(random));
    for (int i = 0; i < 300; ++i) guard.acting(normal(random));
    for (int i = 1; i <= 50; ++i) {
      if (!guard.acting(normal(random, -1.5))) continue;
      ++within;
      break;
    }
  }
  CHECK(within == kRuns);
}

TEST_CASE(
    "the guard waits for control placements, keeps a bounded number, and treats a non-number as the worst reward") {
  RegressionMonitor guard;
  for (int i = 0; i < 499; ++i) guard.control(i);
  for (int i = 0; i < 100; ++i) CHECK_FALSE(guard.acting(-1e9));
  CHECK(guard.judged() == 0);
  for (int i = 0; i < 5000; ++i) guard.control(i);
  CHECK(guard.controls() == guard.options().most);
  bool alarm = false;
  for (int i = 0; i < 10 && !alarm; ++i) alarm = guard.acting(std::nan(""));
  CHECK(alarm);
  const OutputCheck check(1e5);
  CHECK(check.judge(INFINITY));
  CHECK(check.judge(-2e5));
  CHECK_FALSE(check.judge(99'999));
}
