// shadow_run: what shadow models and what live does are of the same hours, and the same every time.
#include "lab/bench/shadow_run.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace wattle::sim;
using namespace wattle::sim::consolidation;

TEST_CASE("shadow's figure is beside what live did in the same hours, and the same bytes come out again") {
  BenchOptions options;
  options.episode.churn = true;
  options.episode.cluster_model = ClusterModel::production;
  options.episode.warm_s = 3600;
  options.episode.measure_s = 3 * 3600;
  options.nodes = {4};
  options.seeds = 1;
  const Dataset data = synthetic_dataset(3);
  const auto runs = run_shadows(data, options, {});
  REQUIRE(runs);
  REQUIRE(runs->size() == 1);
  const ShadowRun& run = runs->front();
  CHECK(run.modelled.seconds >= 3600);
  CHECK(run.shadow.energy_j > 0);
  CHECK(run.shadow.energy_j / run.modelled.seconds == doctest::Approx(run.modelled.now_w).epsilon(0.15));
  CHECK(run.live.energy_j != run.shadow.energy_j);
  CHECK(shadow_table(*runs) == shadow_table(run_shadows(data, options, {}).value()));
  CHECK_FALSE(run_shadows(data, options, {.policy = "no-policy"}));
  // The interval of one fleet is not shown: it is of one seed.
  const std::string table = shadow_table(*runs);
  CHECK(table.find("[needs 5 seeds]") != std::string::npos);
  CHECK(table.find("the interval holds") == std::string::npos);
  CHECK(table.find("--seeds 5") != std::string::npos);
  const std::string five = shadow_table(std::vector<ShadowRun>(5, run));
  CHECK(five.find("[needs") == std::string::npos);
  CHECK(five.find("the interval holds") != std::string::npos);
  // Ahead: a figure is compared with the hour after it.
  const auto ahead = run_shadows(data, options, {.ahead_s = 3600}).value();
  CHECK(ahead.front().modelled.seconds >= 3600);
  CHECK(ahead.front().measured_s == 3600);
  CHECK(run.measured_s == run.modelled.seconds);
  CHECK(run.expected().low == run.modelled.change.low);
  const auto& change = ahead.front().modelled.change;
  CHECK(ahead.front().expected().high - change.mean ==
        doctest::Approx(std::sqrt(2.0) * (change.high - change.mean)).epsilon(1e-9));
  CHECK(ahead.front().live.energy_j < run.live.energy_j);
  options.episode.warm_s = 0;
  options.episode.measure_s = 600;
  CHECK(run_shadows(data, options, {}).error().what == "is too short for a modelled figure");
}
