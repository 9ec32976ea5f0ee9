// shadow_run: expectations of shadow and live mode are compared with the next day, reproducibly.
#include "lab/bench/shadow_run.hpp"

#include <doctest/doctest.h>

using namespace wattle::sim;
using namespace wattle::sim::consolidation;

TEST_CASE("figures at a day's start are compared with live mode on that day, and the bytes are reproducible") {
  BenchOptions options;
  options.episode.churn = true;
  options.episode.cluster_model = ClusterModel::production;
  options.episode.warm_s = 3600;
  options.episode.measure_s = 3 * 3600;
  options.nodes = {3};
  options.seeds = 1;
  const Dataset data = synthetic_dataset(3);
  const ShadowOptions shadow{.days = 1, .canary_s = 24 * 3600};
  const auto runs = run_shadows(data, options, shadow);
  REQUIRE(runs);
  REQUIRE(runs->size() == 1);
  const ShadowRun& run = runs->front();
  REQUIRE(run.days.size() == 1);
  const ShadowDay& day = run.days.front();
  CHECK(day.shadow_j > 0);
  CHECK(day.live_j != day.shadow_j);
  REQUIRE(day.shadow);
  REQUIRE(day.live_modelled);
  CHECK(day.shadow->low <= day.shadow->high);
  CHECK(day.live.has_value() == run.calibration.has_value());
  CHECK(shadow_table(*runs) == shadow_table(run_shadows(data, options, shadow).value()));
  // The interval of one fleet is not shown, because it has one seed.
  const std::string table = shadow_table(*runs);
  CHECK(table.find("[needs 5 seeds]") != std::string::npos);
  CHECK(table.find("the interval holds") == std::string::npos);
  CHECK(table.find("--seeds 5") != std::string::npos);
  const std::string five = shadow_table(std::vector<ShadowRun>(5, run));
  CHECK(five.find("[needs") == std::string::npos);
  CHECK(five.find("the interval holds") != std::string::npos);
}

TEST_CASE("a canary of an episode measures blocks of both kinds, and models only those without followed advice") {
  Options drawn;
  drawn.nodes = 3;
  drawn.churn = true;
  drawn.cluster_model = ClusterModel::production;
  drawn.warm_s = 3600;
  drawn.measure_s = 10 * 3600;
  const Dataset data = synthetic_dataset(3);
  const auto contestant = contestant_named("planner", nullptr);
  REQUIRE(contestant);
  const auto played = play_shadow(make_episode(data, drawn, 1), *contestant, {}, {}, ShadowMode::canary);
  REQUIRE(played);
  std::size_t treated = 0, control = 0;
  for (const auto& block : played->blocks) {
    CHECK(block.usable(measured_block_s()));
    CHECK(block.modelled(measured_block_s()) == !block.treated);
    ++(block.treated ? treated : control);
  }
  CHECK(treated >= 5);
  CHECK(control >= 5);
}

TEST_CASE("an unknown policy is refused") {
  BenchOptions options;
  options.episode.churn = true;
  options.episode.cluster_model = ClusterModel::production;
  options.nodes = {3};
  options.seeds = 1;
  CHECK_FALSE(run_shadows(synthetic_dataset(3), options, {.policy = "no-policy"}));
}
