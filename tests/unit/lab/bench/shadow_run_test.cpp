// shadow_run: what shadow models and what live does are of the same hours, and the same every time.
#include "lab/bench/shadow_run.hpp"

#include <doctest/doctest.h>

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
  const auto runs = run_shadows(data, options, "planner", false);
  REQUIRE(runs);
  REQUIRE(runs->size() == 1);
  const ShadowRun& run = runs->front();
  CHECK(run.modelled.seconds >= 3600);
  CHECK(run.shadow.energy_j > 0);
  CHECK(run.shadow.energy_j / run.modelled.seconds == doctest::Approx(run.modelled.now_w).epsilon(0.15));
  CHECK(run.live.energy_j != run.shadow.energy_j);
  CHECK(shadow_table(*runs) == shadow_table(run_shadows(data, options, "planner", false).value()));
  CHECK_FALSE(run_shadows(data, options, "nobody", false));
  // The interval of one fleet is not shown: it is of one seed.
  const std::string table = shadow_table(*runs);
  CHECK(table.find("[needs 5 seeds]") != std::string::npos);
  CHECK(table.find("the interval holds") == std::string::npos);
  CHECK(table.find("--seeds 5") != std::string::npos);
  const std::string five = shadow_table(std::vector<ShadowRun>(5, run));
  CHECK(five.find("[needs") == std::string::npos);
  CHECK(five.find("the interval holds") != std::string::npos);
  options.episode.warm_s = 0;
  options.episode.measure_s = 600;
  CHECK(run_shadows(data, options, "planner", false).error().what == "is too short for a modelled figure");
}
