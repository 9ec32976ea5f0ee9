#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "sim/env/evaluate.hpp"
#include "sim/policies/true_greedy.hpp"
#include "sim/scenarios/scenario.hpp"

using namespace wattle;
using namespace wattle::sim;

TEST_CASE("a higher price of waiting means less of it, and the reference meets the limit with the least energy") {
  EnvOptions options;
  options.scenario = find_scenario("churn").value();
  Env env(options);
  double free_waits = 0, dear_waits = 0;
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
    const auto priced = [&](double price_w) {
      Contestant contestant = contestant_named("true-greedy").value();
      contestant.wait_price_w = price_w;
      return run_episode(env, contestant, seed).value();
    };
    const EpisodeFigures free = priced(0), dear = priced(500);
    free_waits += free.pressure_ratio;
    dear_waits += dear.pressure_ratio;
    const EpisodeFigures kept = run_episode(env, contestant_named("true-budget").value(), seed).value();
    CHECK(kept.pressure_ratio <= std::max(0.01, free.pressure_ratio));  // not every cluster has enough cores
    if (free.pressure_ratio <= 0.01) CHECK(kept.energy_j <= free.energy_j);
  }
  CHECK(free_waits > 0.04);  // otherwise the budget would not matter
  CHECK(dear_waits < free_waits / 2);
}

TEST_CASE("the reference of true watts uses real curves and real demand, including wakes") {
  WorldOptions options;
  options.idle_nodes_sleep = true;
  for (const double slope : {20.0, 5.0, 1.0}) {
    NodeSpec node;
    node.server.name = "s" + std::to_string(options.nodes.size());
    for (std::size_t i = 0; i < kWattPoints; ++i) node.server.watts[i] = 50 + slope * static_cast<double>(i);
    options.nodes.push_back(node);
  }
  World world(options);
  SimPod pod;
  pod.spec.request = {1, 1024.0 * 1024 * 1024};
  pod.mean_demand_cores = 4;
  pod.life_s = std::numeric_limits<double>::infinity();
  const std::vector<std::size_t> all{0, 1, 2}, some{0, 1};
  CHECK(least_true_watts(world, pod, all) == 2);
  CHECK(least_true_watts(world, pod, some) == 1);
  CHECK_FALSE(least_true_watts(world, pod, std::vector<std::size_t>{}).has_value());
  pod.spec.uid = "first";
  REQUIRE(world.place(pod, 0, 1, {}));
  world.advance_to(200);  // the others sleep: waking one costs its 50 idle watts
  REQUIRE_FALSE(world.powered(2));
  CHECK(least_true_watts(world, pod, all) == 0);  // 4 of 16 cores: 50 W on its slope of 20 W per tenth, below a wake
}
