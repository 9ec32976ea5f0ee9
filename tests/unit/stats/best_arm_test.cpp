// best_arm: no arm is called better than the floor by luck, the best one is found, and trying the others costs little.
#include "common/stats/best_arm.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "common/stats/draws.hpp"

namespace wattle::stats {
namespace {

constexpr std::size_t kDay = 48;
constexpr int kParts = 30;  // of a block

// The sum of twelve uniform draws is close enough to a normal one.
double noise(Random& random) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += uniform(random);
  return sum;
}

struct Lived {
  double worst_day = 0;    // true cost over the floor's in the worst day, as a share of a day's cost
  bool was_wrong = false;  // an arm was in use that is no better than the floor
  std::size_t serving = 0, in_use_blocks = 0;
};

// Blocks with a daily wave of load. `costs`: logarithm of each arm's true cost over the floor's.
Lived live(BestArm& arms, std::vector<double> costs, std::size_t blocks, std::uint64_t seed, double deviation = 0.02) {
  Random random(seed);
  Lived lived;
  std::vector<double> lost;
  for (std::size_t block = 0; block < blocks; ++block) {
    const double load = 0.3 * std::sin(2 * 3.14159265 * static_cast<double>(block) / kDay) + 0.05 * noise(random);
    const double of_block = deviation * noise(random);
    double cost = 0, more = 0;
    for (int part = 1; part <= kParts; ++part) {
      const double extra = costs[arms.arm()];
      cost += std::exp(load + of_block + deviation * noise(random) + extra) / kParts;
      more += std::expm1(extra) / kParts;
      arms.so_far({std::log(cost * kParts / part), load}, static_cast<double>(part) / kParts);
    }
    arms.end(BlockOutcome{std::log(cost), load});
    lost.push_back(more);
    const auto first = lost.size() > kDay ? lost.end() - kDay : lost.begin();
    double day = 0;
    for (auto each = first; each != lost.end(); ++each) day += *each / static_cast<double>(kDay);
    lived.worst_day = std::max(lived.worst_day, day);
    const std::size_t serving = arms.serving();
    lived.was_wrong = lived.was_wrong || (serving != 0 && costs[serving] >= 0);
    lived.in_use_blocks += serving != 0 ? 1 : 0;
  }
  lived.serving = arms.serving();
  return lived;
}

BestArm offered(std::size_t arms, std::uint64_t seed = 1) {
  BestArm made({.arms = arms, .seed = seed});
  for (std::size_t arm = 1; arm < arms; ++arm) made.offer(arm, true);
  return made;
}

TEST_CASE("the interval misses the true mean in at most one run of twenty, however often it is looked at") {
  Random random(11);
  int missed = 0;
  for (int run = 0; run < 1000; ++run) {
    PairedEvidence evidence;
    bool out = false;
    for (int pair = 0; pair < 200; ++pair) {
      const double scale = pair % 7 == 0 ? 0.1 : 0.01;  // heavy tails, but symmetric
      evidence.add(0.02 + scale * noise(random));
      const auto interval = evidence.interval(0.05);
      out = out || (interval && (interval->low > 0.02 || interval->high < 0.02));
    }
    missed += out ? 1 : 0;
  }
  MESSAGE("missed in " << missed << " of 1000 runs");
  CHECK(missed <= 50);
}

TEST_CASE("exchanging the sides of all pairs mirrors the interval, and it continues after a restart") {
  PairedEvidence one, mirrored, restored;
  Random random(3);
  for (int pair = 0; pair < 30; ++pair) {
    const double difference = -0.03 + 0.02 * noise(random);
    one.add(difference);
    mirrored.add(-difference);
  }
  const auto interval = one.interval(0.05), mirror = mirrored.interval(0.05);
  REQUIRE(interval.has_value());
  REQUIRE(mirror.has_value());
  CHECK(interval->high == doctest::Approx(-mirror->low));
  CHECK(interval->high < 0);
  REQUIRE(restored.restore(one.pairs(), one.sum(), one.squares()));
  CHECK(restored.interval(0.05)->low == interval->low);
  one.add(std::numeric_limits<double>::quiet_NaN());
  CHECK(one.pairs() == restored.pairs());
  CHECK_FALSE(restored.restore(2, 1, 0.1));
}

TEST_CASE("of 1,000 clusters on which all arms are equal, at most one in twenty ever uses another than the floor") {
  int wrong = 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    BestArm arms = offered(4, seed);
    wrong += live(arms, {0, 0, 0, 0}, 4 * kDay, seed).was_wrong ? 1 : 0;
  }
  MESSAGE("wrong in " << wrong << " of 1000 clusters");
  CHECK(wrong <= 50);
}

TEST_CASE("an arm that is truly bad costs at most half a percent of any day, and so do three of them") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    for (const std::vector<double>& costs : {std::vector<double>{0, 0.1}, std::vector<double>{0, 0.25},
                                             std::vector<double>{0, 0.7}, std::vector<double>{0, 0.2, 0.4, 0.7}}) {
      BestArm arms = offered(costs.size(), seed);
      const Lived lived = live(arms, costs, 6 * kDay, seed);
      CHECK(lived.worst_day <= 0.005);
      CHECK(lived.in_use_blocks == 0);
      CHECK(arms.state(1) != NetworkState::in_use);
    }
}

TEST_CASE("the best arm is found within days, by any label, and left when it becomes bad") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed)
    for (std::size_t best = 1; best <= 3; ++best) {
      std::vector<double> costs{0, 0.02, 0.1, -0.01};
      costs[best] = -0.06;
      BestArm arms = offered(4, seed);
      REQUIRE(live(arms, costs, 12 * kDay, seed).serving == best);
      CHECK(arms.state(best) == NetworkState::in_use);
      const auto over_floor = arms.interval(best);
      REQUIRE(over_floor.has_value());
      CHECK(over_floor->high < 0);
      costs[best] = 0.06;
      CHECK(live(arms, costs, kDay, seed + 100).serving != best);
    }
}

TEST_CASE("a favoured arm serves after the floor's first blocks, and keeps most of the time where it costs less") {
  int kept = 0;
  double share = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    BestArm arms({.arms = 4, .seed = seed, .favoured = 2});
    for (std::size_t arm = 1; arm < 4; ++arm) arms.offer(arm, true);
    live(arms, {0, 0, -0.03, 0.02}, 4, seed);
    CHECK(arms.serving() == 2);
    const Lived lived = live(arms, {0, 0, -0.03, 0.02}, 6 * kDay, seed + 1000);
    kept += lived.serving == 2 ? 1 : 0;
    share += static_cast<double>(lived.in_use_blocks) / (100 * 6 * kDay);
  }
  MESSAGE("kept by " << kept << " of 100 clusters, in use in " << share << " of the blocks");
  CHECK(kept >= 90);
  CHECK(share >= 0.9);
}

// The worst day of 20 clusters whose favoured arm costs more.
double worst_favoured(double cost, double deviation) {
  double worst = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    BestArm arms({.arms = 2, .seed = seed, .favoured = 1});
    arms.offer(1, true);
    const Lived lived = live(arms, {0, cost}, 7 * kDay, seed, deviation);
    worst = std::max(worst, lived.worst_day);
    CHECK(lived.serving == 0);
  }
  MESSAGE("costs " << 100 * cost << "% more, deviation " << deviation << ": " << 100 * worst << "% of the worst day");
  return worst;
}

TEST_CASE("a favoured arm that is truly bad is withdrawn within the day, which costs at most 0.6% of a day") {
  for (const double cost : {0.1, 0.25, 0.7}) CHECK(worst_favoured(cost, 0.02) <= 0.006);
}

// No bound of half a percent of a day: a difference of the size of the noise takes longer than a day to find.
TEST_CASE("a favoured arm that costs 1 to 5% more is withdrawn within a week, and costs no more than that a day") {
  for (const double deviation : {0.02, 0.05})
    for (const double cost : {0.01, 0.02, 0.05}) CHECK(worst_favoured(cost, deviation) <= std::expm1(cost));
}

// Lives blocks whose cost depends on which arms placed the running pods, of which `stays` outlive a block.
double found_difference(std::uint64_t seed, double difference, double stays, bool shares_reported) {
  Random random(seed);
  BestArm arms({.arms = 2, .seed = seed});
  arms.offer(1, true);
  std::vector<double> by{1, 0};
  for (std::size_t block = 0; block < 60 * kDay; ++block) {
    for (double& each : by) each *= stays;
    by[arms.arm()] += 1 - stays;
    BlockOutcome outcome{difference * by[1] + 0.01 * noise(random), 0, {}};
    if (shares_reported) outcome.placed = by;
    arms.end(outcome);
  }
  return *arms.difference(1);
}

TEST_CASE("where pods outlive their block, the difference is unbiased only if blocks report who placed the pods") {
  for (const double stays : {0.2, 0.5, 0.75})
    for (const double difference : {-0.08, -0.02, 0.01}) {
      double corrected = 0, not_corrected = 0;
      for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        corrected += found_difference(seed, difference, stays, true) / 10;
        not_corrected += found_difference(seed, difference, stays, false) / 10;
      }
      CAPTURE(stays);
      CAPTURE(difference);
      CHECK(corrected == doctest::Approx(difference).epsilon(0.1));
      CHECK(std::abs(not_corrected) < std::abs(difference) * (1 - 0.6 * stays));
    }
}

TEST_CASE("an arm that no copy recommends gets no block, and unmeasured blocks are no evidence") {
  BestArm unworthy({.arms = 2});
  CHECK(live(unworthy, {0, 0.5}, 2 * kDay, 1).worst_day == 0);
  CHECK(unworthy.state(1) == NetworkState::candidate);
  BestArm blind = offered(2);
  for (std::size_t block = 0; block < 3 * kDay; ++block) {
    CHECK(blind.arm() == 0);
    blind.end(std::nullopt);
  }
}

TEST_CASE("a restart continues with the same evidence, and refuses state that none can have") {
  BestArm arms = offered(3, 4);
  live(arms, {0, -0.06, 0.1}, 12 * kDay, 4);
  BestArm next({.arms = 3, .seed = 4});
  REQUIRE(next.restore(arms.saved()));
  CHECK(next.serving() == arms.serving());
  const auto before = arms.interval(1), after = next.interval(1);
  REQUIRE(before.has_value());
  REQUIRE(after.has_value());
  CHECK(after->mean == before->mean);
  CHECK(after->low == before->low);
  CHECK(next.day_excess() == arms.day_excess());
  BestArm::State wrong = arms.saved();
  wrong.serving = 3;
  CHECK_FALSE(next.restore(wrong));
  wrong = arms.saved();
  wrong.spent.front().excess = std::numeric_limits<double>::quiet_NaN();
  CHECK_FALSE(next.restore(wrong));
}

}  // namespace
}  // namespace wattle::stats
