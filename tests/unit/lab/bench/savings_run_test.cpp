// savings_run: weeks with and without right sizes are compared with the projection at their start.
#include "lab/bench/savings_run.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace wattle::sim;
using namespace wattle::sim::consolidation;

TEST_CASE("a week does not depend on later weeks, and its power is within the fleet's range") {
  BenchOptions options;
  options.episode.churn = options.episode.sleep = true;
  options.episode.churn_fill = 0.5;
  options.episode.cluster_model = ClusterModel::production;
  options.nodes = {3};
  options.seeds = 1;
  options.first_seed = 1;
  options.rules = {"planner"};
  const Dataset data = synthetic_dataset(3);
  const auto runs = run_savings(data, options, 2);
  REQUIRE(runs);
  REQUIRE(runs->size() == 1);
  REQUIRE(runs->front().weeks.size() == 2);
  for (const SavingsWeek& week : runs->front().weeks) {
    CHECK(week.fleet_w > 0);
    CHECK(std::abs(week.projected_w) < week.fleet_w);  // negative if requests should rise
    CHECK(week.saved_w < week.fleet_w);
  }
  CHECK(runs->front().weeks[0].saved_w != 0);  // requests were set
  const auto shorter = run_savings(data, options, 1);
  REQUIRE(shorter);
  CHECK(savings_table(*runs).starts_with(savings_table(*shorter)));
}
