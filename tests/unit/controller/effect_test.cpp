// effect: which blocks of a canary act, and what they saved.
#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "controller/rollout/effect.hpp"
#include "controller/rollout/rollout_spec.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace std::chrono_literals;

namespace {

constexpr std::int64_t kBegan_ns = 1'800'000'000LL * 1'000'000'000;

}  // namespace

TEST_CASE("the configured share of every twenty blocks is treated; which ones follows from the seed alone") {
  for (const double share : {0.05, 0.1, 0.5, 0.95}) {
    SwitchbackSchedule schedule;
    schedule.share = share;
    int together = 0;
    for (std::uint64_t group = 0; group < 50; ++group) {
      int treated = 0;
      for (std::uint64_t i = 0; i < kBlockGroup; ++i) treated += is_treated(schedule, group * kBlockGroup + i) ? 1 : 0;
      CHECK(treated == static_cast<int>(std::lround(share * kBlockGroup)));
      together += is_treated(schedule, group * kBlockGroup) ? 1 : 0;
    }
    // The first block of a group is treated about as often as any other.
    CHECK(together >= 50 * share - 15);
    CHECK(together <= 50 * share + 15);
  }
  SwitchbackSchedule one, other;
  other.seed = 2;
  bool differ = false;
  for (std::uint64_t i = 0; i < 100; ++i) differ = differ || is_treated(one, i) != is_treated(other, i);
  CHECK(differ);
}

TEST_CASE("the first minutes of a block are not measured, and the wall clock determines the block") {
  SwitchbackSchedule schedule;
  schedule.began = wall_from_ns(kBegan_ns);
  CHECK(block_at(schedule, schedule.began).number == 0);
  CHECK_FALSE(block_at(schedule, schedule.began + 4min).measured);
  CHECK(block_at(schedule, schedule.began + 5min).measured);
  const Block later = block_at(schedule, schedule.began + 95min);
  CHECK(later.number == 3);
  CHECK(later.left == 25min);
  CHECK(later.treated == is_treated(schedule, 3));
  CHECK(block_at(schedule, schedule.began - 1h).number == 0);  // the clock went back
}

TEST_CASE("modes are printed as they are parsed") {
  for (const char* text : {"off", "shadow", "live", "canary:10%", "canary:95%"})
    CHECK(parse_mode(text)->text() == text);
  CHECK(parse_mode("canary")->text() == "canary:10%");
  for (const char* text : {"canary:0%", "canary:100%", "canary:7%", "canary:10", "canary:%", "Live", ""})
    CHECK_FALSE(parse_mode(text));
}

TEST_CASE("a spec survives a round trip through text, and invalid specs are refused") {
  RolloutSpec spec;
  spec.mode = {Mode::canary, 0.25};
  spec.policy = "planner";
  spec.reward.weights.contention = 4;
  spec.reward.preset = placement::Preset::el_rl;
  spec.schedule.seed = 99;
  spec.schedule.began = wall_from_ns(kBegan_ns);
  const auto again = parse_spec(spec_text(spec), {});
  REQUIRE(again);
  CHECK(spec_text(*again) == spec_text(spec));
  CHECK(again->schedule.share == 0.25);
  CHECK(again->limits == spec.limits);
  CHECK(with_changes(spec, {{"cpu_wait", "3%"}})->limits.cpu_wait == std::optional(0.03));
  CHECK_FALSE(with_changes(spec, {{"cpu_wait", "default"}})->limits.cpu_wait.has_value());
  CHECK(with_changes(spec, {{"late", "2%"}})->limits == placement::BudgetLimits{std::nullopt, 0.02});
  for (const placement::BudgetLimits& limits :
       {placement::BudgetLimits{0.03, 0.02}, placement::BudgetLimits{0.03, std::nullopt},
        placement::BudgetLimits{std::nullopt, 0.02}}) {
    RolloutSpec limited = spec;
    limited.limits = limits;
    CHECK(parse_spec(spec_text(limited), {})->limits == limits);
    CHECK(parse_spec(spec_text(limited), {})->reward == spec.reward);
  }
  RolloutSpec limited = spec;
  limited.limits = {0.03, std::nullopt};
  CHECK(described(spec, limited) == "cpu_wait default -> 3%");
  CHECK(described(limited, spec) == "cpu_wait 3% -> default");
  RolloutSpec judged = limited;
  judged.limits.late = 0.0025;
  judged.reward.reference_w = 12.5;
  judged.reward.horizon_s = 600;
  judged.reward.load = placement::LoadKind::memory;
  judged.reward.weights.latency = 0.1;
  CHECK(
      described(limited, judged) ==
      "load " + std::string(placement::to_string(spec.reward.load)) +
          " -> memory, reference_w 20 -> 12.5, horizon_s 3600 -> 600, weight.latency 1 -> 0.1, late default -> 0.25%");
  CHECK_FALSE(parse_spec("{}", {}));
  CHECK_FALSE(parse_spec("not json", {}));
  for (const std::pair<std::string, std::string>& wrong :
       std::vector<std::pair<std::string, std::string>>{{"mode", "dead"},
                                                        {"policy", "oracle"},
                                                        {"reward", "gold"},
                                                        {"weight.energy", "-1"},
                                                        {"weight.energy", "101"},
                                                        {"weight.energy", "nan"},
                                                        {"weight.energy", "1x"},
                                                        {"weight.love", "1"},
                                                        {"cpu_wait", "0"},
                                                        {"cpu_wait", "101%"},
                                                        {"cpu_wait", "%"},
                                                        {"cpu_wait", "-1"},
                                                        {"cpu_wait", "much"},
                                                        {"late", "0"},
                                                        {"late", "2"},
                                                        {"late", "much"},
                                                        {"reference_w", "0"}})
    CHECK_MESSAGE(!with_changes(spec, {wrong}), wrong.first, "=", wrong.second);
}

TEST_CASE("the saving is a ratio of geometric means, and its interval covers the truth at its nominal rate") {
  std::mt19937_64 random(3);
  std::normal_distribution<double> noise(0, 0.05);
  const double truth = 0.08;
  int held = 0;
  constexpr int kRuns = 400;
  for (int run = 0; run < kRuns; ++run) {
    std::vector<BlockResult> blocks;
    for (std::uint64_t i = 0; i < 24; ++i) {
      const bool treated = i % 4 == 0;
      const double j = 1000 * std::exp(noise(random)) * (treated ? 1 - truth : 1.0);
      blocks.push_back({i, treated, 1500, j * 10, 10, 6000, 6000, 5});
    }
    const EffectEstimate saving = estimate_effect(blocks, 1500);
    REQUIRE(saving.low);
    CHECK(*saving.low < *saving.ratio);
    held += *saving.low <= truth && truth <= *saving.high ? 1 : 0;
  }
  CHECK(held >= 0.92 * kRuns);
  CHECK(held <= 0.98 * kRuns);
}

TEST_CASE("blocks with few records, little observation or no load are omitted, and few blocks give no estimate") {
  std::vector<BlockResult> blocks;
  for (std::uint64_t i = 0; i < 10; ++i) blocks.push_back({i, i < 5, 1500, 1000, 1, 6000, 6000, 1});
  CHECK(estimate_effect(blocks, 1500).ratio == doctest::Approx(0));
  blocks[0].seen_s = 600;
  blocks[1].watched_node_s = 5000;
  blocks[2].core_h = 0;
  const EffectEstimate saving = estimate_effect(blocks, 1500);
  CHECK(saving.unused == 3);
  CHECK(saving.treated == 2);
  CHECK_FALSE(saving.ratio.has_value());
}
