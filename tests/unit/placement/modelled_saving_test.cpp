// modelled_saving: the saving of acting, from the power of two clusters side by side.
#include "placement/judge/modelled_saving.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>

namespace wattle::placement {
namespace {

ComparedLoad load_of(double now_w, double advised_w) {
  ComparedLoad load;
  load.now = {now_w, 0.02, 0, 10};
  load.advised = {advised_w, 0.03, 0, 10};
  load.advised_pods = 5;
  load.displaced_pods = 2;
  return load;
}

void pass(ModelledSaving& saving, const ComparedLoad& load, int times) {
  for (int i = 0; i < times; ++i) saving.add(load, 1);
}

TEST_CASE("the figure has both powers, their change and the waiting, once there are enough blocks") {
  ModelledSaving saving;
  CHECK(saving.first_in_s() == 9 * 300);
  CHECK_FALSE(saving.figure());
  pass(saving, load_of(389, 322), 1000);
  CHECK(saving.first_in_s() == 1700);
  pass(saving, load_of(389, 322), 1699);
  CHECK(saving.first_in_s() == 1);
  CHECK_FALSE(saving.figure());
  pass(saving, load_of(389, 322), 1);
  CHECK(saving.first_in_s() == 0);
  const auto figure = saving.figure();
  REQUIRE(figure);
  CHECK(figure->now_w == doctest::Approx(389));
  CHECK(figure->advised_w == doctest::Approx(322));
  CHECK(figure->change.mean == doctest::Approx(322.0 / 389 - 1));
  CHECK(figure->now_wait_ratio == doctest::Approx(0.002));
  CHECK(figure->advised_wait_ratio == doctest::Approx(0.003));
  CHECK(figure->advised_ratio == doctest::Approx(0.5));
  CHECK(figure->seconds == doctest::Approx(1500));
}

TEST_CASE("chance agreement of blocks does not make a saving certain, and differing blocks do not make it useless") {
  for (const double swing_w : {0.0, 1.0, 120.0}) {
    ModelledSaving saving;
    for (int block = 0; block < 10; ++block)
      pass(saving, load_of(400, 320 + (block % 2 == 0 ? swing_w : -swing_w)), 300);
    REQUIRE(saving.figure());
    const stats::Interval change = saving.figure()->change;
    CHECK(change.high - change.mean > 0.2 * 0.1);
    CHECK(change.high - change.mean < (swing_w < 2 ? 0.06 : 0.5));
  }
}

TEST_CASE("if advice equals reality the change is zero, with an interval of zero width") {
  ModelledSaving saving;
  std::mt19937_64 random(3);
  for (int i = 0; i < 9 * 300; ++i) {
    const double watts = 300 + static_cast<double>(random() % 100);
    saving.add(load_of(watts, watts), 1);
  }
  REQUIRE(saving.figure());
  CHECK(saving.figure()->change.mean == 0);
  CHECK(saving.figure()->change.low == 0);
  CHECK(saving.figure()->change.high == 0);
}

TEST_CASE("time without an advised pod, without a report or with an invalid number does not count") {
  ModelledSaving saving;
  ComparedLoad load = load_of(100, 90);
  load.advised_pods = 0;
  pass(saving, load, 10'000);
  CHECK(saving.first_in_s() == 2700);
  saving.add(load_of(100, 90), 500);
  CHECK(saving.first_in_s() == 2690);
  saving.add(load_of(std::nan(""), 90), 1);
  saving.add(load_of(100, std::numeric_limits<double>::infinity()), 1);
  CHECK(saving.first_in_s() == 2690);
}

TEST_CASE("the first half is dropped, because the copy starts as the cluster is") {
  ModelledSaving saving;
  pass(saving, load_of(100, 100), 5 * 300);
  pass(saving, load_of(100, 80), 5 * 300);
  REQUIRE(saving.figure());
  CHECK(saving.figure()->change.mean == doctest::Approx(-0.2));
}

TEST_CASE("blocks grow with time, so weeks need few of them, and the figure is that of the newer half") {
  ModelledSaving saving;
  for (int i = 0; i < 300'000; ++i) saving.add(load_of(100, i < 100'000 ? 100 : 90), 10);
  CHECK(saving.state().blocks.size() < 48);
  REQUIRE(saving.figure());
  CHECK(saving.figure()->change.mean == doctest::Approx(-0.1));
}

TEST_CASE("the interval covers the truth about as often as stated, also if the variation lasts for blocks") {
  constexpr int kRuns = 400;
  for (const double lasts : {0.0, 0.5}) {
    int held = 0;
    std::mt19937_64 random(11);
    std::normal_distribution<double> noise(0, 5);
    for (int run = 0; run < kRuns; ++run) {
      ModelledSaving saving;
      double away = 0;
      for (int block = 0; block < 46; ++block) {
        away = lasts * away + noise(random);
        for (int i = 0; i < 30; ++i) saving.add(load_of(400, 360 + away), 10);
      }
      const auto figure = saving.figure();
      REQUIRE(figure);
      held += figure->change.low <= -0.1 && -0.1 <= figure->change.high ? 1 : 0;
    }
    CHECK(held >= 0.9 * kRuns);
  }
}

TEST_CASE("after a change of the permission to sleep, only later blocks count") {
  for (const bool begins : {true, false}) {
    ModelledSaving saving;
    ComparedLoad load = load_of(400, 390);
    load.may_sleep_ratio = begins ? 0 : 0.9;
    pass(saving, load, 20 * 300);
    REQUIRE(saving.figure());
    ComparedLoad after = load_of(400, 200);
    after.may_sleep_ratio = begins ? 0.9 : 0;
    after.asleep_w = begins ? 150 : 0;
    pass(saving, after, 300);
    CHECK_FALSE(saving.figure());
    CHECK(saving.first_in_s() == 8 * 300);
    pass(saving, after, 8 * 300);
    REQUIRE(saving.figure());
    CHECK(saving.figure()->change.mean == doctest::Approx(-0.5));
    CHECK(saving.figure()->asleep_w == doctest::Approx(after.asleep_w));
    after.may_sleep_ratio += 0.05;  // one node of many
    pass(saving, after, 2 * 300);
    CHECK(saving.first_in_s() == 0);
  }
}

TEST_CASE("sleeping nodes save energy also while no pod with advice runs") {
  ModelledSaving saving;
  ComparedLoad load = load_of(400, 200);
  load.advised_pods = 0;
  load.asleep_w = 200;
  pass(saving, load, 9 * 300);
  REQUIRE(saving.figure());
  CHECK(saving.figure()->change.mean == doctest::Approx(-0.5));
}

TEST_CASE("after a restart, the earlier figure stands until the copy has the choices of as many pods again") {
  ModelledSaving saving, other;
  pass(saving, load_of(400, 300), 12 * 300);
  REQUIRE(other.restore(saving.state()));
  ComparedLoad few = load_of(400, 400);  // the copy starts as the cluster
  few.advised_pods = 1;
  pass(other, few, 6 * 3600);
  REQUIRE(other.figure());
  CHECK(other.figure()->change.mean == doctest::Approx(-0.25));
  pass(other, load_of(400, 320), 12 * 300);
  CHECK(other.figure()->change.mean == doctest::Approx(-0.2));
  pass(other, few, 24 * 300);  // from then on all time counts
  CHECK(other.figure()->change.mean == doctest::Approx(0));
  REQUIRE(other.restore(saving.state()));
  pass(other, few, 3 * 86'400);  // fewer permanently
  CHECK(other.figure()->change.mean == doctest::Approx(0));
}

TEST_CASE("the figure continues over a restart; an impossible state is refused") {
  ModelledSaving saving, other;
  pass(saving, load_of(389, 322), 3100);
  REQUIRE(other.restore(saving.state()));
  CHECK(other.figure()->advised_w == saving.figure()->advised_w);
  pass(saving, load_of(389, 300), 300);
  pass(other, load_of(389, 300), 300);
  CHECK(other.figure()->advised_w == saving.figure()->advised_w);
  ModelledState state = saving.state();
  state.blocks.front().now_j = -1;
  CHECK_FALSE(other.restore(state));
  state = saving.state();
  state.block_s = 1;
  CHECK_FALSE(other.restore(state));
  state = saving.state();
  state.blocks.resize(48);
  CHECK_FALSE(other.restore(state));
}

}  // namespace
}  // namespace wattle::placement
