#include <doctest/doctest.h>

#include <limits>

#include "sim/policies/true_greedy.hpp"

using namespace wattle;
using namespace wattle::sim;

TEST_CASE("the reference of true watts goes by real curves and real demand, waking included") {
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
  CHECK(least_true_watts(world, pod, all) == 0);  // 4 of 16 cores: 50 W on its slope of 20 W a tenth, less than waking
}
