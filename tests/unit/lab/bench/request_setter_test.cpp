// request_setter: pods of a world get the requests of the controller's rule, as set by `wattle provision set`; the
// freed room of a resized pod is used; benches pair a policy with itself under the rule.
#include "sim/world/request_setter.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "lab/bench/bench.hpp"

namespace wattle::sim {
namespace {

constexpr double kHours = 3600;

WorldOptions one_machine(double cores) {
  WorldOptions options;
  NodeSpec node;
  node.server.name = "machine";
  node.server.cores = cores;
  node.server.memory_bytes = 1e12;
  node.server.watts.fill(100);
  node.crowded_ratio = 1;
  options.nodes.push_back(node);
  options.power_noise_ratio = 0;
  return options;
}

SimPod pod_of(const std::string& uid, const std::string& app, double request_cores, double demand_cores) {
  SimPod made;
  made.spec.uid = uid;
  made.spec.app = app;
  made.spec.request = {request_cores, 1 << 30};
  made.mean_demand_cores = demand_cores;
  made.memory_used_bytes = 0.5 * made.spec.request.memory_bytes;
  made.life_s = std::numeric_limits<double>::infinity();
  return made;
}

// In steps of a minute.
void run_to(World& world, RequestSetter& requests, double until_s) {
  while (world.now_s() < until_s) {
    world.advance_to(std::min(until_s, requests.due_s()));
    requests.tick(world);
  }
}

double requested_cores(const World& world) { return world.view({}).nodes[0].requested.cpu_cores; }

TEST_CASE("a resized pod counts with its current request, whether it fits or not, and frees all of it") {
  World world(one_machine(16));
  REQUIRE(world.place(pod_of("p", "deployment/a image", 4, 1), 0, 1, {}));
  REQUIRE(world.resize("p", {1, 1 << 30}));
  CHECK(requested_cores(world) == 1);
  REQUIRE(world.resize("p", {20, 1 << 30}));
  CHECK(requested_cores(world) == 20);
  CHECK_FALSE(world.place(pod_of("q", "deployment/a image", 1, 1), 0, 2, {}).has_value());
  REQUIRE(world.remove("p"));
  CHECK(requested_cores(world) == 0);
  CHECK_FALSE(world.resize("p", {1, 0}).has_value());
}

TEST_CASE(
    "requests are lowered once the rule knows enough and the pod has run for half an hour, and others use the room") {
  RequestSetter requests;
  requests.begin(nullptr);
  World world(one_machine(16), &requests);
  REQUIRE(world.place(pod_of("old", "deployment/a image-1", 12, 1), 0, 1, {}));
  run_to(world, requests, 12 * kHours);
  CHECK(requested_cores(world) == 12);
  run_to(world, requests, 13 * kHours);
  CHECK(requested_cores(world) == doctest::Approx(1).epsilon(0.1));
  CHECK(requests.figures().writes == 1);
  const double lowered = requested_cores(world);
  // The maximum plus 15%, in buckets of 5%.
  CHECK(world.view({}).nodes[0].requested.memory_bytes == doctest::Approx(0.5 * 1.15 * (1 << 30)).epsilon(0.1));
  // Another pod of its owner starts with its template's request.
  REQUIRE(world.place(pod_of("new", "deployment/a image-2", 12, 1), 0, 2, {}));
  run_to(world, requests, 13 * kHours + 1700);
  CHECK(requested_cores(world) == lowered + 12);
  run_to(world, requests, 13 * kHours + 2000);
  CHECK(requested_cores(world) == doctest::Approx(2 * lowered));
  CHECK(requests.figures().given_up_core_s > 0);
}

TEST_CASE("requests are raised at once, never above the machine; a pod that waits needs more than it used") {
  RequestSetter requests;
  requests.begin(nullptr);
  World world(one_machine(4), &requests);
  REQUIRE(world.place(pod_of("p", "deployment/a image", 0.5, 3), 0, 1, {}));
  REQUIRE(world.place(pod_of("q", "deployment/b image", 0.5, 3), 0, 2, {}));
  run_to(world, requests, 0.9 * kHours);
  CHECK(requested_cores(world) == 1);
  run_to(world, requests, 1.5 * kHours);
  // 2 of 3 cores each, with waiting all the time: 4, which is the machine's capacity.
  CHECK(requested_cores(world) == doctest::Approx(8).epsilon(0.05));
  CHECK(requested_cores(world) <= 8);
}

TEST_CASE("lessons of one world apply in the next") {
  RequestSetter requests;
  {
    requests.begin(nullptr);
    World world(one_machine(16), &requests);
    REQUIRE(world.place(pod_of("p", "deployment/a image", 12, 1), 0, 1, {}));
    run_to(world, requests, 13 * kHours);
    REQUIRE(requested_cores(world) < 2);
  }
  requests.begin(nullptr);
  CHECK(requests.figures().writes == 0);
  World next(one_machine(16), &requests);
  REQUIRE(next.place(pod_of("p", "deployment/a image", 12, 1), 0, 1, {}));
  run_to(next, requests, 1700);
  CHECK(requested_cores(next) == 12);
  run_to(next, requests, 2000);
  CHECK(requested_cores(next) == doctest::Approx(1).epsilon(0.1));
}

TEST_CASE(
    "a bench compares a policy with itself under set requests: the same pods, and only there requests are lowered") {
  const consolidation::Dataset data = consolidation::synthetic_dataset(3);
  consolidation::BenchOptions options;
  options.rules = {"planner", "planner+requests", "planner+cpu-requests"};
  options.nodes = {3};
  options.seeds = 1;
  options.episode.churn = options.episode.sleep = true;
  options.episode.sizes = consolidation::Sizes::openb;
  options.episode.warm_s = 2 * kHours;
  options.episode.measure_s = 7 * kHours;
  options.episode.cluster_model = consolidation::ClusterModel::production;
  const auto result = consolidation::bench(data, options).value();
  const auto& rules = result.tables.front().rules;
  REQUIRE(rules.size() == 3);
  CHECK(rules[1].name == "planner+requests");
  const auto &alone = rules[0].runs.front(), &together = rules[1].runs.front();
  CHECK(alone.requests_set == 0);
  CHECK(alone.given_up_cores == 0);
  CHECK(together.requests_set > 0);
  CHECK(together.given_up_cores > 0);
  CHECK(together.given_up_bytes > 0);
  CHECK(rules[2].runs.front().given_up_cores > 0);
  CHECK(rules[2].runs.front().given_up_bytes == 0);
  CHECK(together.placements + together.refused == alone.placements + alone.refused);
  // For the same work.
  const double less = (together.energy_j / together.work_core_s) / (alone.energy_j / alone.work_core_s) - 1;
  CHECK(rules[1].over_planner->mean == doctest::Approx(less));
  CHECK(consolidation::to_table(result).find("GiB given up") != std::string::npos);
}

}  // namespace
}  // namespace wattle::sim
