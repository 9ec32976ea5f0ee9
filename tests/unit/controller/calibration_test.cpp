// calibration: corrects the modelled saving by what canaries measured.
#include "controller/rollout/calibration.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>
#include <random>

#include "controller/store/control_file.hpp"

using namespace wattle;
using namespace wattle::controller;

namespace {

constexpr double kMeasured_s = 1500;
using Canaries = std::vector<std::vector<BlockResult>>;

// Blocks of a canary in which acting saves `truly` and the model predicts `modelled`, with the given noise.
std::vector<BlockResult> canary(int treated, int control, double truly, double modelled, double noise, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> drawn(0, noise);
  std::vector<BlockResult> blocks;
  for (int i = 0; i < treated + control; ++i) {
    BlockResult block;
    block.number = static_cast<std::uint64_t>(i);
    block.treated = i < treated;
    block.seen_s = kMeasured_s;
    block.node_s = block.watched_node_s = 4 * kMeasured_s;
    block.core_h = 10;
    block.energy_j = 400'000 * std::exp(drawn(random)) * (block.treated ? 1 - truly : 1);
    if (!block.treated) {
      block.modelled_s = kMeasured_s;
      block.modelled_j = 380'000 * std::exp(drawn(random));  // curves may be wrong
      block.modelled_acting_j = block.modelled_j * (1 - modelled) * std::exp(drawn(random) / 10);
    }
    blocks.push_back(block);
  }
  return blocks;
}

double width(const stats::Interval& interval) { return interval.high - interval.low; }

}  // namespace

TEST_CASE("an overestimated saving is corrected towards the measured one, further with a longer canary") {
  constexpr int kRuns = 100;
  double before = 1;
  for (const int blocks : {10, 40, 400}) {
    double sum = 0;
    for (int run = 0; run < kRuns; ++run) {
      const Canaries all{canary(blocks / 2, blocks, 0.16, 0.2, 0.02, static_cast<unsigned>(run))};
      const auto calibration = calibrate(all, kMeasured_s);
      REQUIRE(calibration);
      CHECK(calibration->blocks == static_cast<std::size_t>(blocks / 2 + blocks));
      sum += calibration->ratio.mean / kRuns;
    }
    CHECK(sum < before);
    CHECK(sum > 0.79);
    before = sum;
  }
  CHECK(before == doctest::Approx(0.8).epsilon(0.02));
}

TEST_CASE("few blocks leave the ratio near one, and fewer than five blocks per arm give no calibration") {
  const auto of = [](int treated, int control) {
    return calibrate(Canaries{canary(treated, control, 0.15, 0.15, 0.02, 3)}, kMeasured_s);
  };
  CHECK_FALSE(of(4, 50));
  CHECK_FALSE(of(50, 4));
  const auto few = of(5, 5), more = of(10, 30), many = of(40, 200);
  REQUIRE(few);
  REQUIRE(more);
  REQUIRE(many);
  CHECK(width(few->ratio) > width(more->ratio));
  CHECK(width(more->ratio) > width(many->ratio));
  CHECK(width(few->ratio) < 2 * 1.97 * kPriorRatio);
  CHECK(many->ratio.mean == doctest::Approx(1).epsilon(0.1));
}

TEST_CASE(
    "a canary widens the interval only if it contradicts the model, and moves the ratio towards its measurement") {
  CHECK(rc::check([] {
    const auto percent = [](int low, int high) { return *rc::gen::inRange(low, high) / 100.0; };
    const double truly = percent(-30, 60), modelled = percent(-10, 60), noise = percent(1, 20);
    const int treated = *rc::gen::inRange(5, 60), control = *rc::gen::inRange(5, 60);
    const auto seed = *rc::gen::arbitrary<unsigned>();
    const auto calibration = calibrate(Canaries{canary(treated, control, truly, modelled, noise, seed)}, kMeasured_s);
    RC_ASSERT(calibration.has_value());
    const double by_sleep = percent(-40, 1), placed = percent(-40, 20), side = percent(1, 20);
    const stats::Interval alone{by_sleep + placed, by_sleep + placed - side, by_sleep + placed + side};
    const stats::Interval with = calibrated(alone, *calibration, by_sleep);
    RC_ASSERT(with.low <= with.mean && with.mean <= with.high);
    RC_ASSERT(width(with) >= width(alone) - 1e-9);
    if (!(calibration->unexplained > 0)) RC_ASSERT(width(with) <= width(alone) + 1e-9);
    if (truly == modelled && noise < 0.02) RC_ASSERT(calibration->unexplained < 1);
    RC_ASSERT(std::abs(calibration->ratio.mean) <= kMostCalibration);
    RC_ASSERT(calibrated({by_sleep, by_sleep, by_sleep}, *calibration, by_sleep).mean == by_sleep);
  }));
}

TEST_CASE("several canaries are more certain than one, weighted by their certainty") {
  const auto one = canary(8, 24, 0.1, 0.2, 0.02, 1), other = canary(8, 24, 0.1, 0.2, 0.02, 2),
             noisy = canary(8, 24, 0.3, 0.2, 0.5, 3);
  const auto alone = calibrate(Canaries{one}, kMeasured_s), both = calibrate(Canaries{one, other}, kMeasured_s),
             all = calibrate(Canaries{one, other, noisy}, kMeasured_s);
  REQUIRE(alone);
  REQUIRE(both);
  REQUIRE(all);
  CHECK(width(both->ratio) < width(alone->ratio));
  CHECK(both->blocks == 64);
  CHECK(all->ratio.mean == doctest::Approx(both->ratio.mean).epsilon(0.05));
}

TEST_CASE(
    "without a modelled saving there is no calibration, and a modelled saving of zero does not affect the ratio") {
  auto blocks = canary(20, 40, 0.1, 0.2, 0.02, 5);
  for (BlockResult& block : blocks) block.modelled_s = 0;  // of an earlier version
  CHECK_FALSE(calibrate(Canaries{blocks}, kMeasured_s));
  const auto none = calibrate(Canaries{canary(20, 40, 0.0, 0.0, 0.02, 6)}, kMeasured_s);
  REQUIRE(none);
  CHECK(none->ratio.mean == doctest::Approx(1).epsilon(0.05));
  CHECK(none->unexplained == 0);
  CHECK_FALSE(calibrate({}, kMeasured_s));
  blocks = canary(20, 40, 0.1, 0.2, 0.02, 7);
  for (BlockResult& block : blocks) block.watched_node_s /= 2;
  CHECK_FALSE(calibrate(Canaries{blocks}, kMeasured_s));
}

TEST_CASE(
    "the ratio and its interval are bounded; a saving of zero lowers the figure and widens the interval to zero") {
  const auto much = calibrate(Canaries{canary(20, 60, 0.5, 0.02, 0.01, 8)}, kMeasured_s);
  REQUIRE(much);
  CHECK(much->ratio.high <= kMostCalibration);
  CHECK(much->unexplained > 0);
  const auto harm = calibrate(Canaries{canary(40, 80, -0.1, 0.2, 0.01, 9)}, kMeasured_s);
  REQUIRE(harm);
  CHECK(harm->unexplained > 0.5);
  const stats::Interval change = calibrated({-0.2, -0.22, -0.18}, *harm);
  CHECK(change.high > 0);
  CHECK(change.low <= change.mean);
  CHECK(change.mean <= change.high);
}

TEST_CASE("the oldest canaries are dropped when there are too many blocks") {
  std::vector<PastCanary> past;
  for (int i = 0; i < 100; ++i) keep_canary(past, {std::to_string(i), std::vector<BlockResult>(100, BlockResult{})});
  CHECK(past.size() == kMostPastBlocks / 100);
  CHECK(past.back().ranking == "99");
  keep_canary(past, {"none", {}});
  CHECK(past.back().ranking == "99");
}
