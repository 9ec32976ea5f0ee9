// test and copies: a network that is behind is left out, one that is not hardly ever is, and the same network is never either.
#include "common/stats/network_trial.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <random>

#include "models/frozen/frozen_network.hpp"
#include "models/frozen/layout.hpp"
#include "placement/judge/paired_choices.hpp"
#include "placement/judge/paired_simulation.hpp"
#include "placement/worth/objective.hpp"
#include "sim/improve/fleet_view.hpp"
#include "tests/unit/placement/paired_world.hpp"

namespace wattle::placement {
namespace {

// Blocks until the verdict changes, at most `most`.
template <class Draw>
std::uint64_t blocks_until(stats::NetworkTrial& test, std::uint64_t most, Draw&& draw) {
  for (std::uint64_t block = 1; block <= most; ++block)
    if (test.add(draw())) return block;
  return most + 1;
}

TEST_CASE(
    "false alarms: of a thousand networks that are not behind, hardly any is left out in a tenth of the stated run") {
  // Ville: the chance of an alarm within n blocks is at most n / run_blocks, whatever the distribution.
  struct Shape {
    const char* name;
    double up, chance;  // `up` with that chance, else what makes the mean 0
  };
  for (const Shape& shape : {Shape{"even", 1.0, 0.5}, Shape{"mostly a little ahead", 1.0, 0.1},
                             Shape{"mostly a little behind", 0.1, 0.9}, Shape{"small", 0.02, 0.5}}) {
    std::mt19937_64 random(7);
    int alarms = 0;
    for (int run = 0; run < 1000; ++run) {
      stats::NetworkTrial test;
      const double down = -shape.up * shape.chance / (1 - shape.chance);
      const auto draw = [&] {
        return std::uniform_real_distribution<double>(0, 1)(random) < shape.chance ? shape.up : down;
      };
      const auto tenth = static_cast<std::uint64_t>(test.options().run_blocks / 10);
      if (blocks_until(test, tenth, draw) <= tenth) ++alarms;
    }
    CHECK_MESSAGE(alarms <= 130, shape.name);  // 100 expected at the most, three standard deviations
  }
}

TEST_CASE(
    "figures that are alike for fifteen blocks, level in the long run, leave it out in few runs of 3000 decisions") {
  std::mt19937_64 random(11);
  std::normal_distribution<double> noise(0, 0.05);
  const double kept = std::exp(-1.0 / 15);
  int alarms = 0;
  for (int run = 0; run < 400; ++run) {
    stats::NetworkTrial test;
    double figure = 0;
    const auto draw = [&] { return figure = kept * figure + std::sqrt(1 - kept * kept) * noise(random); };
    if (blocks_until(test, 300, draw) <= 300) ++alarms;
  }
  CHECK(alarms <= 20);
}

TEST_CASE("a network that costs a tenth more is left out, comes back when it is better, and not for noise") {
  std::mt19937_64 random(3);
  std::normal_distribution<double> noise(0, 0.2);
  stats::NetworkTrial test;
  REQUIRE(blocks_until(test, 2000, [&] { return 0.1 + noise(random); }) <= 2000);
  CHECK_FALSE(test.in_use());
  CHECK(test.evidence() == 0);
  CHECK(blocks_until(test, 500, [&] { return 0.1 + noise(random); }) > 500);  // still behind
  CHECK(blocks_until(test, 2000, [&] { return -0.2 + noise(random); }) <= 2000);
  CHECK(test.in_use());
  CHECK(test.changes() == 2);
}

TEST_CASE("one that begins left out comes in when it has shown that it is ahead, and not by being level") {
  std::mt19937_64 random(4);
  std::normal_distribution<double> noise(0, 0.2);
  stats::NetworkTrial test({.begins_gated = true});
  CHECK_FALSE(test.in_use());
  CHECK(test.limit() == doctest::Approx(std::log(200)));
  for (int i = 0; i < 1000; ++i) CHECK_FALSE(test.add(0));
  CHECK_FALSE(test.in_use());
  REQUIRE(blocks_until(test, 2000, [&] { return -0.1 + noise(random); }) <= 2000);
  CHECK(test.in_use());
  test.restart();
  CHECK_FALSE(test.in_use());
  CHECK(test.changes() == 0);
}

TEST_CASE(
    "on trial a network comes in after its first blocks if they cost no more in total, and else when they do not") {
  stats::NetworkTrial level({.begins_on_trial = true});
  CHECK_FALSE(level.in_use());
  CHECK_FALSE(level.add(0.5, 10));
  CHECK_FALSE(level.add(-0.5, 10));
  CHECK(level.add(0, 10));
  CHECK(level.in_use());
  CHECK(level.cost_is_bounded());
  CHECK(level.changes() == 1);
  stats::NetworkTrial behind({.begins_on_trial = true});
  for (int i = 0; i < 2000; ++i) REQUIRE_FALSE(behind.add(0.05, 10));
  CHECK_FALSE(behind.in_use());
  stats::NetworkTrial late({.begins_on_trial = true});
  for (int i = 0; i < 5; ++i) CHECK_FALSE(late.add(0.02, 10));
  CHECK(late.add(-0.1, 10));
  CHECK(late.in_use());
}

TEST_CASE(
    "what a network on trial may cost is bounded, however it comes about, and then it must show that it is ahead") {
  CHECK(rc::check([](const std::vector<double>& draws) {
    stats::NetworkTrial test({.begins_on_trial = true});
    double lost_s = 0;
    for (const double draw : draws) {
      const double difference = std::isfinite(draw) ? std::sin(draw) : 0, block_s = 100;
      const bool used = test.in_use();
      test.add(difference, block_s);
      if (!used || !test.cost_is_bounded()) continue;
      lost_s += difference * block_s;
      RC_ASSERT(lost_s <= test.options().trial_loss_s);
    }
  }));
  stats::NetworkTrial test({.begins_on_trial = true});
  for (int i = 0; i < 3; ++i) test.add(0, 100);
  REQUIRE(test.in_use());
  // Sooner than the bet would: 432 s of what is drawn are 44 blocks of a tenth of 100 s.
  CHECK(blocks_until(test, 100, [&] { return 0; }) > 100);
  int blocks = 1;
  while (!test.add(0.1, 100)) ++blocks;
  CHECK(blocks == 44);
  CHECK_FALSE(test.in_use());
  CHECK_FALSE(test.cost_is_bounded());
  for (int i = 0; i < 200; ++i) REQUIRE_FALSE(test.add(0, 100));
  int back = 1;
  while (!test.add(-0.2, 100)) REQUIRE(++back < 1000);
  CHECK(test.in_use());
  CHECK_FALSE(test.cost_is_bounded());
}

TEST_CASE("a trial that cost too much is tried again after a day, from the beginning; so each day's cost is bounded") {
  constexpr double kBlock_s = 600, kDays = 5;
  stats::NetworkTrial test({.begins_on_trial = true}), kept;
  double loss_s = 0;
  int comes = 0;
  for (double now_s = 0; now_s < kDays * 86'400; now_s += kBlock_s) {
    const bool used = test.in_use();
    const double difference = used ? 0.1 : 0;
    if (used) loss_s += difference * kBlock_s;
    if (test.add(difference, kBlock_s) && !used) ++comes;
    CHECK(test.rests() == (!test.in_use() && !test.cost_is_bounded()));
    REQUIRE(kept.restore(test.saved()));
    CHECK(kept.rests() == test.rests());
  }
  CHECK(comes == 5);
  CHECK(loss_s <= comes * (test.options().trial_loss_s + 0.1 * kBlock_s));

  stats::NetworkTrial wrong({.begins_on_trial = true});
  for (int i = 0; i < 3; ++i) wrong.add(0, kBlock_s);
  while (!wrong.add(0.5, kBlock_s)) continue;
  REQUIRE(wrong.rests());
  for (int i = 0; i < 2000; ++i) CHECK_FALSE(wrong.add(0.05, kBlock_s));
  CHECK(wrong.cost_is_bounded());  // its first blocks cost too much

  stats::SavedTrial impossible = test.saved();
  impossible.network_gated = false;
  impossible.rest_s = 100;
  CHECK_FALSE(kept.restore(impossible));
}

TEST_CASE("a restart goes on with a trial, and refuses one that cannot be") {
  stats::NetworkTrial test({.begins_on_trial = true});
  for (int i = 0; i < 5; ++i) test.add(i < 3 ? 0.0 : 0.3, 100);
  stats::NetworkTrial again;
  REQUIRE(again.restore(test.saved()));
  CHECK(again.cost_is_bounded());
  int left = 1, other = 1;
  while (!test.add(0.2, 100)) ++left;
  while (!again.add(0.2, 100)) ++other;
  CHECK(left == other);
  stats::SavedTrial wrong = test.saved();
  wrong.behind_s = wrong.trial_s + 1;
  CHECK_FALSE(again.restore(wrong));
}

TEST_CASE("a restart may come after any block: what is kept is always a state that is taken back") {
  std::mt19937_64 random(6);
  std::normal_distribution<double> noise(-0.05, 0.2);
  stats::NetworkTrial test, again;
  for (int i = 0; i < 500; ++i) {
    test.add(noise(random));
    REQUIRE(test.evidence() >= 0);
    REQUIRE(again.restore(test.saved()));
  }
}

TEST_CASE("what is no number counts for nothing, and beginning anew forgets everything") {
  stats::NetworkTrial test;
  CHECK_FALSE(test.add(std::nan("")));
  CHECK(test.blocks() == 0);
  while (!test.add(1)) {
  }
  CHECK_FALSE(test.in_use());
  test.restart();
  CHECK(test.in_use());
  CHECK(test.mean() == 0);
}

// Wants the dearest node that fits, by amortised cost.
struct Dearest final : models::QNetwork {
  void residual(const models::Observation& seen, std::span<float> out) const override {
    for (std::size_t i = 0; i < seen.nodes; ++i) out[i] = 10 * seen.node[i * models::kNodeFeatures + 17];
  }
  std::uint64_t step() const override { return 0; }
};

TEST_CASE(
    "copies: a network that has learned nothing draws what the prior does, to the joule, however pods come and end and "
    "far users are") {
  const auto same = models::FrozenNetwork::from_weights(models::initial_weights(3), 0).value();
  std::size_t figures = 0;
  CHECK(rc::check([&](std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const Fleet fleet = draw_fleet(random);
    std::vector<std::size_t> rows(fleet.nodes.size());
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = i;
    Planner planner({});
    PairedSimulation copies;
    ClusterView view;
    PodSpec pod;
    pod.request = {1, 1e9};
    if (seed % 4 == 0) pod.latency_soft_ms = 30;
    live(
        random, fleet, 60,
        [&](const Fleet& now, const PodEstimate& ask, std::uint64_t key) -> std::optional<std::size_t> {
          sim::fill_view(now, view);
          if (seed % 2 == 0)
            for (const std::size_t i : rows) view.nodes[i].latency_ms["default"] = 20 * static_cast<double>(i);
          const RewardConfig reward;
          const PairedQuestion question{view, now, rows, pod, ask, {}, key, latency_price_w(reward, ask.life_s)};
          const auto figure = copies.play(question, by_network(question, planner, reward, same.get(), 0),
                                          by_network(question, planner, reward, nullptr, 0));
          if (figure) {
            RC_ASSERT(*figure == 0);
            ++figures;
          }
          // What really happens is neither's choice.
          std::vector<std::size_t> open;
          for (const std::size_t i : rows)
            if (fits(now.nodes[i], ask)) open.push_back(i);
          if (open.empty()) return std::nullopt;
          const std::size_t node = open[random() % open.size()];
          copies.placed(key, node, ask, now.now_s);
          return node;
        },
        [&](const Running& each) { copies.ended(each.key, each.ends_s); });
    RC_ASSERT(copies.pods() <= 60);
  }));
  CHECK(figures > 300);
}

TEST_CASE("copies keep no pod that ended, that never ran, or beyond their bound, and take ends of pods of before") {
  std::mt19937_64 random(2);
  Fleet fleet = draw_fleet(random);
  for (FleetNode& node : fleet.nodes) {
    node.pods = 2;
    node.requested = {2, 2e9};
    node.used_cores = 1;
    node.sleeps = false;
  }
  ClusterView view;
  const auto same = models::FrozenNetwork::from_weights(models::initial_weights(3), 0).value();
  const std::vector<std::size_t> rows{0, 1, 2, 3, 4};
  const PodEstimate ask{{1, 1e9}, 0.5, 3600};
  PodSpec pod;
  pod.request = {1, 1e9};
  Planner planner({});
  PairedSimulationOptions few;
  few.max_pods = 5;
  PairedSimulation copies(few);
  const auto play = [&](std::uint64_t key) {
    fleet.now_s += 1;
    sim::fill_view(fleet, view);
    const RewardConfig reward;
    const PairedQuestion question{view, fleet, rows, pod, ask, {}, key};
    return copies.play(question, by_network(question, planner, reward, same.get(), 0),
                       by_network(question, planner, reward, nullptr, 0));
  };
  play(1);
  CHECK(copies.pods() == 1);
  CHECK_FALSE(copies.ended(7, fleet.now_s));                            // of before, or never heard of
  for (int k = 0; k < 3; ++k) copies.ended_there(0, ask, fleet.now_s);  // more than there were: none is left
  play(1);                                                              // asked again
  CHECK(copies.pods() == 1);
  copies.placed(1, 3, ask, fleet.now_s);
  play(2);
  fleet.now_s += 700;
  play(3);
  CHECK(copies.pods() == 2);  // the second never ran
  // One that ran before it was compared stays.
  copies.placed(4, 1, ask, fleet.now_s);
  play(4);
  fleet.now_s += 700;
  play(3);
  CHECK(copies.pods() == 3);
  CHECK(copies.ended(4, fleet.now_s));
  CHECK(copies.ended(1, fleet.now_s));
  for (std::uint64_t key = 10; key < 30; ++key) {
    play(key);
    CHECK(copies.pods() <= few.max_pods);
  }
}

}  // namespace
}  // namespace wattle::placement
