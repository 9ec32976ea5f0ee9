#include "provision/minute/minute_replay.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "common/stats/draws.hpp"
#include "provision/minute/choice.hpp"
#include "provision/minute/service_cost.hpp"

namespace wattle::models::provision {

namespace {

// An observation that its margin identifies.
Observation seen_at(double margin) {
  ServiceMinute state;
  state.now.margin_ratio = state.rule_margin_ratio = margin;
  Bounds bounds;
  bounds.memory = false;
  return observe(state, bounds);
}

// Minutes 0 to count - 1 of services a and b; the minute after the i-th choice has reward i.
void live(MinuteReplay& replay, int count, int from = 0) {
  for (int i = from; i < from + count; ++i)
    for (const char* service : {"a", "b"})
      replay.add(service, i - 1, seen_at(0.01 * i + (*service == 'b' ? 1 : 0)), kKeep);
}

std::vector<Transition> drawn(const MinuteReplay& replay, std::size_t count, std::uint64_t seed = 3) {
  stats::Random random(seed);
  std::vector<Transition> batch(count);
  replay.draw(batch, [&](std::size_t of) { return stats::pick(random, of); });
  return batch;
}

}  // namespace

TEST_CASE("transitions have one service, are n minutes apart, and have the centred rewards in between") {
  MinuteReplay replay({.minutes = 1000, .n_step = 3, .discount = 0.5});
  live(replay, 30);
  CHECK(replay.size() == 0);  // unfinished stretches are not sampled
  replay.end_all();
  CHECK(replay.size() == 60);
  const double mean = 14;  // of 0 to 28
  for (const Transition& each : drawn(replay, 200)) {
    bool found = false;
    for (int i = 0; i + 3 < 30; ++i)
      for (const double base : {0.0, 1.0}) {
        if (each.state.pod != seen_at(0.01 * i + base).pod) continue;
        found = true;
        CHECK(each.next.pod == seen_at(0.01 * (i + 3) + base).pod);
        CHECK(each.reward == doctest::Approx((i - mean) + 0.5 * (i + 1 - mean) + 0.25 * (i + 2 - mean)));
        CHECK(each.discount == doctest::Approx(0.125));
      }
    CHECK(found);
  }
}

TEST_CASE("a stretch that is too short for a transition is dropped, and the oldest is dropped first") {
  MinuteReplay replay({.minutes = 50, .n_step = 3, .discount = 0.9});
  live(replay, 4);
  replay.end_all();
  CHECK(replay.size() == 0);
  live(replay, 20);
  replay.end_all();
  live(replay, 20, 100);
  replay.end_all();
  CHECK(replay.size() == 40);
  const auto batch = drawn(replay, 100);
  for (const Transition& each : batch) CHECK(each.state.pod[8] > seen_at(0.9).pod[8]);  // from the later ones
}

TEST_CASE("a saved replay is restored: the same draws give the same transitions") {
  MinuteReplay replay({.minutes = 1000, .n_step = 3, .discount = 0.9});
  live(replay, 30);
  replay.end("a");
  live(replay, 10, 30);
  replay.end_all();
  MinuteReplay again({.minutes = 1000, .n_step = 3, .discount = 0.9});
  REQUIRE(again.restore(replay.save()));
  CHECK(again.size() == replay.size());
  const auto before = drawn(replay, 50), after = drawn(again, 50);
  for (std::size_t i = 0; i < before.size(); ++i) {
    CHECK(before[i].state.node == after[i].state.node);
    CHECK(before[i].state.valid == after[i].state.valid);
    CHECK(before[i].next.pod == after[i].next.pod);
    CHECK(before[i].action == after[i].action);
    CHECK(before[i].reward == doctest::Approx(after[i].reward));
  }
}

TEST_CASE("invalid tensors are refused, and change nothing") {
  MinuteReplay replay({});
  live(replay, 30);
  replay.end_all();
  const Weights whole = replay.save();
  const auto refused = [&](const char* name, auto change) {
    Weights broken = whole;
    change(broken.at(name).values);
    CHECK_FALSE(replay.restore(broken));
    CHECK(replay.size() == 60);
  };
  CHECK_FALSE(replay.restore({}));
  refused("lengths", [](auto& values) { values[0] = 1; });
  refused("lengths", [](auto& values) { values[0] = 31; });
  refused("lengths", [](auto& values) { values[0] = std::nanf(""); });
  refused("node", [](auto& values) { values.pop_back(); });
  refused("lived", [](auto& values) { values[0] = 9; });
  refused("lived", [](auto& values) { values[0] = -1; });
  refused("lived", [](auto& values) { values[0] = 0; });  // fewer replicas than one
  refused("lived", [](auto& values) { values[1] = std::nanf(""); });
  CHECK(replay.restore(whole));
}

TEST_CASE("need is the value of the work: twice the requests need twice as much, whatever was granted") {
  ServiceCost costs;
  ServiceMinute state;
  MinuteCost reported;
  for (int i = 0; i < 200; ++i) reported = costs.add({30, 0.5, 0.6, std::nullopt, 6000, 0, 100, 0.5}, {}, state);
  CHECK(reported.need == doctest::Approx(1));
  CHECK(reported.cost == doctest::Approx(1.2));
  CHECK(state.latency->p99_over_target == 0.5);
  CHECK(state.memory_share == 0);
  const MinuteCost wide = costs.add({30, 0.5, 1.2, std::nullopt, 6000, 0, 100, 0.5}, {}, state);
  CHECK(wide.need == doctest::Approx(reported.need));
  CHECK(wide.cost == doctest::Approx(2.4));
  const MinuteCost late = costs.add({30, 0.5, 0.6, std::nullopt, 6000, 120, 100, 1.5}, {}, state);
  CHECK(late.cost == doctest::Approx(1.2 + 60 * 0.01));  // one percent may be late
  CHECK(state.latency->over_ratio == 0.02);
  ServiceCost idle;
  const MinuteCost nothing = idle.add({0, 0, 0.05, std::nullopt, 0, 0, 0, 0}, {}, state);
  CHECK(std::isfinite(nothing.cost));
  CHECK(nothing.need == 0);
}

TEST_CASE("a setting moves by at most a rung, or up as far as the rule goes") {
  const Bounds bounds;
  CHECK(within_a_rung(-0.3, 0.3, 0.3, bounds) == doctest::Approx(1.3 / kMarginStep - 1));
  CHECK(within_a_rung(3, 0.3, 0.3, bounds) == doctest::Approx(1.3 * kMarginStep - 1));
  CHECK(within_a_rung(3, 0.3, 0.6, bounds) == 0.6);
  CHECK(within_a_rung(0.31, 0.3, 0.6, bounds) == 0.31);
  const Bounds node = bounds_of(true, 1, std::nullopt);
  CHECK(memory_within_a_rung(0.6, 0.15, node) == doctest::Approx(1.15 * kMemoryStep - 1));
  CHECK(memory_within_a_rung(-1, 0.15, node) == doctest::Approx(1.15 / kMemoryStep - 1));
  CHECK(memory_within_a_rung(0.2, 0.15, node) == 0.2);
  CHECK(memory_within_a_rung(-1, 0.02, node) == 0);
  CHECK(memory_within_a_rung(9, 0.58, node) == 0.6);
  CHECK_FALSE(valid(action_of(Lever::memory, 1), {}, bounds_of(false, 1, std::nullopt)));
  CHECK_FALSE(valid(action_of(Lever::memory, -1), {0, 0, 1}, node));
  CHECK(within_a_rung(-5, -0.29, -0.29, bounds) == bounds.least_margin);
  CHECK(within_a_rung(100, 3.9, 3.9, bounds) == bounds.most_margin);
}

}  // namespace wattle::models::provision
