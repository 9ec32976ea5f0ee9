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
    CHECK(std::abs(week.requests.projected_w.mean) < week.fleet_w);  // negative if requests should rise
    CHECK(week.requests.saved_w < week.fleet_w);
    CHECK(week.sleep.saved_w >= 0);
    for (const ProjectedSaving& each : {week.requests, week.sleep}) {
      REQUIRE(each.projected_w.known());
      CHECK(each.projected_w.low <= each.projected_w.mean);
      CHECK(each.projected_w.mean <= each.projected_w.high);
    }
  }
  CHECK(runs->front().weeks[0].requests.saved_w != 0);  // requests were set
  const auto shorter = run_savings(data, options, 1);
  REQUIRE(shorter);
  CHECK(shorter->front().weeks[0].requests.saved_w == runs->front().weeks[0].requests.saved_w);
  CHECK(shorter->front().weeks[0].sleep.projected_w.high == runs->front().weeks[0].sleep.projected_w.high);
}

TEST_CASE("the table counts the weeks in which the interval held, without those that have none") {
  const ProjectedSaving inside{{10, 5, 20}, 12}, outside{{10, 5, 20}, 21}, none{wattle::stats::without_range(10), 12};
  const std::string table = savings_table({{1, {{inside, outside, 100}, {inside, none, 100}}}});
  CAPTURE(table);
  CHECK(table.find("requests: the interval held in 2 of 2 weeks\n") != std::string::npos);
  CHECK(table.find("sleep: the interval held in 0 of 1 weeks\n") != std::string::npos);
  CHECK(table.ends_with("all: the interval held in 2 of 3 weeks\n"));
}
