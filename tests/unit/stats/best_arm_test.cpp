// best_arm: no arm is called better than the floor by luck, the best one is found, and trying the others costs little.
#include "common/stats/best_arm.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "common/stats/draws.hpp"

namespace wattle::stats {
namespace {

constexpr std::size_t kDay = 48;
// Steps of a simulated block: while the floor decides and has placed all pods, while only the floor decides, and while
// another arm does.
constexpr int kAlone = 1, kCoarse = 10, kParts = 50, kFineParts = 200;

// The sum of three uniform draws is close enough to a normal one.
double noise(Random& random) { return 2 * (uniform(random) + uniform(random) + uniform(random)) - 3; }

struct Lived {
  double worst_day = 0;    // true cost above the floor's in the worst day, as a share of a day's cost
  bool was_wrong = false;  // an arm was in use that is no better than the floor
  std::size_t serving = 0, in_use_blocks = 0;
};

struct Cluster {
  std::vector<double> costs;  // logarithm of each arm's true cost relative to the floor's
  double deviation = 0.02;    // of blocks
  double stays = 0;           // share of pods that outlive a block
  std::size_t day_blocks = kDay;
};

// Runs one block and returns its true cost above the floor's. `by`: shares of running pods, by arm. `extra`: true cost
// of each arm above the floor's.
double live_block(BestArm& arms, const Cluster& cluster, const std::vector<double>& extra, double load,
                  std::vector<double>& by, Random& random) {
  const double from = arms.exposure() / 2, of_block = cluster.deviation * noise(random);
  const bool floor_decides = arms.arm() == 0;
  const int parts = cluster.stays > 0 ? (floor_decides ? kCoarse : kFineParts) : floor_decides ? kAlone : kParts;
  const double stay = std::pow(cluster.stays, 1.0 / parts),
               of_part = cluster.deviation * std::sqrt(1.0 * parts / kFineParts);
  double cost = 0, counted = 0, counted_parts = 0, more = 0;
  std::vector<double> placed(by.size());
  for (int part = 1; part <= parts; ++part) {
    double now_more = 0;
    for (double& each : by) each *= stay;
    by[arms.arm()] += 1 - stay;
    for (std::size_t arm = 0; arm < by.size(); ++arm) now_more += by[arm] * extra[arm];
    const double now = std::exp(load + of_block + of_part * noise(random)) * (1 + now_more);
    cost += now;
    more += now_more / parts;
    const double passed = static_cast<double>(part) / parts;
    if (passed > from) {
      counted += now;
      ++counted_parts;
      for (std::size_t arm = 0; arm < by.size(); ++arm) placed[arm] += by[arm];
    }
    if (!floor_decides) arms.so_far(BlockOutcome{std::log(cost / part), load, {}}, passed);
  }
  for (double& each : placed) each /= counted_parts;
  arms.end(BlockOutcome{std::log(counted / counted_parts), load, placed});
  return more;
}

// Blocks with a daily wave of load.
Lived live(BestArm& arms, const Cluster& cluster, std::size_t blocks, std::uint64_t seed) {
  Random random(seed);
  Lived lived;
  std::vector<double> lost, by(cluster.costs.size()), extra;
  by[0] = 1;
  for (const double each : cluster.costs) extra.push_back(std::expm1(each));
  const auto day_blocks = static_cast<double>(cluster.day_blocks);
  double day = 0;
  for (std::size_t block = 0; block < blocks; ++block) {
    const double load = 0.3 * std::sin(2 * 3.14159265 * static_cast<double>(block) / day_blocks) + 0.05 * noise(random);
    lost.push_back(live_block(arms, cluster, extra, load, by, random) / day_blocks);
    day += lost.back() - (lost.size() > cluster.day_blocks ? lost[lost.size() - 1 - cluster.day_blocks] : 0);
    lived.worst_day = std::max(lived.worst_day, day);
    const std::size_t serving = arms.serving();
    lived.was_wrong = lived.was_wrong || (serving != 0 && cluster.costs[serving] >= 0);
    lived.in_use_blocks += serving != 0 ? 1 : 0;
  }
  lived.serving = arms.serving();
  return lived;
}

Lived live(BestArm& arms, std::vector<double> costs, std::size_t blocks, std::uint64_t seed) {
  return live(arms, Cluster{std::move(costs)}, blocks, seed);
}

BestArm offered(std::size_t arms, std::uint64_t seed = 1, std::size_t favoured = 0, std::size_t day_blocks = kDay) {
  BestArm made({.arms = arms, .seed = seed, .day_blocks = day_blocks, .favoured = favoured});
  for (std::size_t arm = 1; arm < arms; ++arm) made.offer(arm, true);
  return made;
}

TEST_CASE("the interval misses the true mean in at most one run of twenty, however often it is checked" *
          doctest::test_suite("statistical")) {
  Random random(11);
  int missed = 0;
  for (int run = 0; run < 1000; ++run) {
    PairedEvidence evidence;
    bool out = false;
    for (int pair = 0; pair < 200; ++pair) {
      const double scale = pair % 7 == 0 ? 0.1 : 0.01;  // heavy tails, but symmetric
      const double apart = pair % 3 == 0 ? 0.3 : 1;
      evidence.add(0.02 * apart + scale * noise(random), apart);
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
    one.add(difference, pair % 2 == 0 ? 1 : 0.5);
    mirrored.add(-difference, pair % 2 == 0 ? 1 : 0.5);
  }
  const auto interval = one.interval(0.05), mirror = mirrored.interval(0.05);
  REQUIRE(interval.has_value());
  REQUIRE(mirror.has_value());
  CHECK(interval->high == doctest::Approx(-mirror->low));
  CHECK(interval->high < 0);
  REQUIRE(restored.restore(one.sums()));
  CHECK(restored.interval(0.05)->low == interval->low);
  one.add(std::numeric_limits<double>::quiet_NaN());
  CHECK(one.pairs() == restored.pairs());
  CHECK_FALSE(restored.restore({2, 1, 0.1, 2, 1, 2}));
  CHECK_FALSE(restored.restore({2, 0, 0.1, 3, 0, 3}));
}

TEST_CASE("at most one in twenty of 1,000 clusters with equal arms ever uses another than the floor" *
          doctest::test_suite("statistical")) {
  int wrong = 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    BestArm arms = offered(4, seed);
    wrong += live(arms, {0, 0, 0, 0}, 4 * kDay, seed).was_wrong ? 1 : 0;
  }
  MESSAGE("wrong in " << wrong << " of 1000 clusters");
  CHECK(wrong <= 50);
}

// The mean over clusters of the true cost above the floor's in the worst day of ten.
double mean_worst_day(const Cluster& cluster, std::size_t favoured, std::uint64_t clusters) {
  double mean = 0;
  for (std::uint64_t seed = 1; seed <= clusters; ++seed) {
    BestArm arms = offered(cluster.costs.size(), seed, favoured, cluster.day_blocks);
    mean += live(arms, cluster, 10 * cluster.day_blocks, seed).worst_day / static_cast<double>(clusters);
  }
  MESSAGE("deviation " << cluster.deviation << ", " << cluster.costs.size() - 1 << " arms, the first costs "
                       << 100 * std::expm1(cluster.costs[1]) << "%, " << cluster.day_blocks
                       << " blocks a day: " << 100 * mean << "% of the worst day");
  return mean;
}

TEST_CASE("the worst day of a cluster with bad arms, favoured or not, costs at most half a percent in the mean" *
          doctest::test_suite("statistical")) {
  for (const double deviation : {0.01, 0.02, 0.05})
    for (const double loss : {0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.7}) {
      const double cost = std::log1p(loss);
      CHECK(mean_worst_day({{0, cost}, deviation}, 1, 40) <= 0.005);
      CHECK(mean_worst_day({{0, cost, cost / 2, cost}, deviation}, 0, 20) <= 0.005);
    }
}

TEST_CASE("the same holds if a quarter of the pods outlive a block of three hours" *
          doctest::test_suite("statistical")) {
  for (const double deviation : {0.01, 0.02, 0.05})
    for (const double loss : {0.01, 0.05, 0.25, 0.7})
      CHECK(mean_worst_day({{0, std::log1p(loss)}, deviation, 0.25, 8}, 1, 40) <= 0.005);
}

TEST_CASE("an arm without evidence gets a third of a block in a day, and a block that is not measured counts") {
  BestArm arms = offered(2);
  for (int block = 0; block < 4; ++block) arms.end(BlockOutcome{0, 0, {}});
  CHECK(arms.exposure() == doctest::Approx(0.005 * kDay / BestArm::kWorst));
  if (arms.arm() == 0) arms.end(BlockOutcome{0, 0, {}});
  REQUIRE(arms.arm() == 1);
  CHECK_FALSE(arms.so_far(std::nullopt, 0.2));
  CHECK(arms.so_far(std::nullopt, 0.33));
  CHECK(arms.arm() == 0);
  arms.end(std::nullopt);
  CHECK(arms.ledger() == doctest::Approx(0.005));
  for (std::size_t block = 1; block < kDay; ++block) {
    CHECK(arms.arm() == 0);
    CHECK(arms.exposure() == 1);
    arms.end(BlockOutcome{0, 0, {}});
  }
  arms.end(BlockOutcome{0, 0, {}});
  CHECK(arms.exposure() < 1);
}

TEST_CASE("an arm that is rejected or replaced no longer decides, and a new arm starts without evidence") {
  for (const bool replaced : {false, true}) {
    BestArm arms = offered(2);
    live(arms, {0, 0.02}, 4 * kDay, 1);
    for (std::size_t block = 0; arms.arm() == 0 && block < kDay; ++block) arms.end(BlockOutcome{0, 0, {}});
    REQUIRE(arms.arm() == 1);
    const double before = arms.ledger();
    replaced ? arms.forget(1) : arms.reject(1);
    CHECK(arms.arm() == 0);
    CHECK(arms.ledger() == doctest::Approx(before));
    CHECK((arms.worst(1) == BestArm::kWorst) == replaced);
    arms.end(BlockOutcome{0, 0, {}});
    CHECK(arms.ledger() < 0.0051);
  }
}

TEST_CASE("the best of three arms is found within twenty days, by any label, and withdrawn when it becomes bad" *
          doctest::test_suite("statistical")) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed)
    for (std::size_t best = 1; best <= 3; ++best) {
      std::vector<double> costs{0, 0.02, 0.1, -0.01};
      costs[best] = -0.06;
      BestArm arms = offered(4, seed);
      REQUIRE(live(arms, costs, 20 * kDay, seed).serving == best);
      CHECK(arms.state(best) == NetworkState::in_use);
      const auto over_floor = arms.interval(best);
      REQUIRE(over_floor.has_value());
      CHECK(over_floor->high < 0);
      costs[best] = 0.06;
      CHECK(live(arms, costs, 2 * kDay, seed + 100).serving != best);
    }
}

TEST_CASE("a favoured arm that costs less comes into use within days, or weeks with long blocks, but never unmeasured" *
          doctest::test_suite("statistical")) {
  struct Case {
    double cost = 0, deviation = 0;
    std::size_t days = 0, day_blocks = kDay;
  };
  for (const Case& each : {Case{-0.03, 0.02, 4}, Case{-0.06, 0.02, 3}, Case{-0.06, 0.05, 10}, Case{-0.03, 0.05, 20},
                           Case{-0.1, 0.01, 25, 8}, Case{-0.03, 0.01, 40, 8}}) {
    int found = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      BestArm arms = offered(4, seed, 2, each.day_blocks);
      const Cluster cluster{
          {0, 0, each.cost, 0.02}, each.deviation, each.day_blocks == kDay ? 0 : 0.25, each.day_blocks};
      CHECK(live(arms, cluster, 9, seed).serving == 0);
      found += live(arms, cluster, each.days * each.day_blocks, seed + 1000).serving == 2 ? 1 : 0;
    }
    MESSAGE("costs " << 100 * each.cost << "%, deviation " << each.deviation << ", " << each.day_blocks
                     << " blocks a day: in use in " << found << " of 40 clusters after " << each.days << " days");
    CHECK(found >= 28);
  }
}

// Runs blocks whose cost depends on which arms placed the running pods, a share `stays` of which outlives a block.
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

TEST_CASE("if pods outlive their block, the difference is unbiased only if blocks report which arm placed the pods" *
          doctest::test_suite("statistical")) {
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

TEST_CASE("an arm that replaces a floor over budget is the new reference, and the floor returns after a rest") {
  double more = 0;
  const double dear = 0.04;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    BestArm arms = offered(3, seed);
    for (int block = 0; block < 4; ++block) arms.end(BlockOutcome{0, 0, {}});
    arms.set_breaks_budget(0, true);
    arms.replace_floor(1);
    CHECK(arms.state(0) == NetworkState::withdrawn);
    CHECK(arms.state(1) == NetworkState::in_use);
    CHECK(arms.arm() == 1);
    BestArm next({.arms = 3, .seed = seed});
    REQUIRE(next.restore(arms.saved()));
    CHECK(next.arm() == 1);
    const Cluster cluster{{0, std::log1p(dear), std::log1p(0.5)}};
    more += live(arms, cluster, kDay - 1, seed).worst_day / 20;
    CHECK(arms.serving() == 1);
    CHECK(arms.ledger() < 0.0051);
    arms.end(BlockOutcome{0, 0, {}});
    CHECK(arms.arm() == 0);  // the arm is measured again before anything else
    CHECK(arms.serving() == 0);
    arms.replace_floor(1);
    live(arms, cluster, kDay, seed);
    CHECK(arms.state(0) == NetworkState::withdrawn);  // for two days
    arms.forget(0);
    CHECK(arms.serving() == 0);
  }
  MESSAGE("a day costs " << 100 * more << "% over a floor that breaks the budget");
  CHECK(more <= dear + 0.005);
}

TEST_CASE("an arm is not withdrawn for costing more than one over budget") {
  for (const bool breaks : {false, true}) {
    std::size_t whole = 0;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      BestArm arms = offered(2, seed);
      arms.set_breaks_budget(0, breaks);
      for (std::size_t day = 0; day < 20; ++day) {
        live(arms, {0, 0.03}, kDay, seed * 100 + day);
        whole += arms.state(1) == NetworkState::on_trial && arms.interval(1) && arms.interval(1)->low > 0 ? 1 : 0;
      }
      CHECK(arms.serving() == 0);
    }
    CHECK((whole > 0) == breaks);
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

TEST_CASE("a restart continues with the same evidence, and refuses an impossible state") {
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
