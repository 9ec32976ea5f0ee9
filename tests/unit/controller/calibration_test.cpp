// calibration: the modelled saving is put right by what canaries measured, and is as sure as they are.
#include "controller/rollout/calibration.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "controller/store/control_file.hpp"

using namespace wattle;
using namespace wattle::controller;

namespace {

constexpr double kMeasured_s = 1500;
using Canaries = std::vector<std::vector<BlockResult>>;

// Blocks of a canary in which acting saves `truly` and the model says `modelled`, each with so much noise.
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

TEST_CASE("a model that promises twice what is saved becomes unbiased") {
  int held = 0;
  double sum = 0;
  constexpr int kRuns = 200;
  for (int run = 0; run < kRuns; ++run) {
    const Canaries all{canary(20, 60, 0.1, 0.2, 0.02, static_cast<unsigned>(run))};
    const auto calibration = calibrate(all, kMeasured_s);
    REQUIRE(calibration);
    CHECK(calibration->blocks == 80);
    held += calibration->ratio.low <= 0.5 && calibration->ratio.high >= 0.5 ? 1 : 0;
    sum += calibrated({-0.2, -0.21, -0.19}, *calibration).mean;
  }
  CHECK(sum / kRuns == doctest::Approx(-0.1).epsilon(0.02));
  CHECK(held >= 180);  // 95 of 100, but for chance
  CHECK(held <= 198);
}

TEST_CASE("few blocks make the interval wide, and below five an arm nothing is said") {
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
  CHECK(many->ratio.mean == doctest::Approx(1).epsilon(0.1));
  const stats::Interval change{-0.15, -0.17, -0.13};
  CHECK(width(calibrated(change, *few)) > width(calibrated(change, *many)));
  CHECK(width(calibrated(change, *many)) > width(change));
}

TEST_CASE("several canaries are surer than one, each by what it is sure of") {
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

TEST_CASE("nothing is said where nothing was modelled, or what is modelled may be nothing") {
  auto blocks = canary(20, 40, 0.1, 0.2, 0.02, 5);
  for (BlockResult& block : blocks) block.modelled_s = 0;  // of an earlier version
  CHECK_FALSE(calibrate(Canaries{blocks}, kMeasured_s));
  CHECK_FALSE(calibrate(Canaries{canary(20, 40, 0.1, 0.0, 0.02, 6)}, kMeasured_s));
  CHECK_FALSE(calibrate({}, kMeasured_s));
  blocks = canary(20, 40, 0.1, 0.2, 0.02, 7);
  for (BlockResult& block : blocks) block.watched_node_s /= 2;
  CHECK_FALSE(calibrate(Canaries{blocks}, kMeasured_s));
}

TEST_CASE("ratio and ends are bounded, and a saving that was none turns the figure round") {
  const auto much = calibrate(Canaries{canary(20, 60, 0.5, 0.02, 0.01, 8)}, kMeasured_s);
  REQUIRE(much);
  CHECK(much->ratio.mean == kMostCalibration);
  CHECK(much->ratio.high == kMostCalibration);
  const auto harm = calibrate(Canaries{canary(40, 80, -0.1, 0.2, 0.01, 9)}, kMeasured_s);
  REQUIRE(harm);
  CHECK(harm->ratio.high < 0);
  const stats::Interval change = calibrated({-0.2, -0.22, -0.18}, *harm);
  CHECK(change.low > 0);
  CHECK(change.low <= change.mean);
  CHECK(change.mean <= change.high);
}

TEST_CASE("the oldest canaries go when there are too many blocks") {
  std::vector<PastCanary> past;
  for (int i = 0; i < 100; ++i) keep_canary(past, {std::to_string(i), std::vector<BlockResult>(100, BlockResult{})});
  CHECK(past.size() == kMostPastBlocks / 100);
  CHECK(past.back().ranking == "99");
  keep_canary(past, {"none", {}});
  CHECK(past.back().ranking == "99");
}
