#include "sim/live/observe.hpp"

#include <doctest/doctest.h>

#include "sim/live/swarm_api.hpp"

using namespace wattle;
using namespace wattle::sim::live;

TEST_CASE("the driver reads what the swarm writes") {
  const MonoTime now = mono_from_ns(1'000'000'000);
  Fleet fleet(wattle::sim::synthetic_fleet(4, 3), {}, now);
  const auto view = parse_swarm_nodes(nodes_json(fleet, now, 77, {true}));
  REQUIRE(view);
  CHECK(view->epoch == "77");
  REQUIRE(view->nodes.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(view->nodes[i].server.name == fleet.server(i).name);
    CHECK(view->nodes[i].server.cores == fleet.server(i).cores);
    CHECK(view->nodes[i].server.watts == fleet.server(i).watts);
    CHECK(view->nodes[i].latency_ms == fleet.latency_ms(i, now));
    CHECK_FALSE(view->nodes[i].power.resting_w);
  }
}

TEST_CASE("unknown values stay unknown in the controller's documents") {
  const auto nodes = parse_controller_nodes(
      R"({"nodes":[{"name":"a","connected":true,"power_w":null,"energy_source":"none",
          "latency":[{"target":"other","p50_ms":9},{"target":"default","p50_ms":4.5}]}]})");
  REQUIRE(nodes);
  CHECK_FALSE((*nodes)[0].power_w);
  CHECK((*nodes)[0].latency_ms == 4.5);
  const auto status = parse_controller_status(
      R"({"gradient_steps":12,"loss":null,"mean_reward":-0.5,"decided_by":{"network":97,"plan":3}})");
  REQUIRE(status);
  CHECK(status->gradient_steps == 12);
  CHECK_FALSE(status->loss);
  CHECK(status->mean_reward == -0.5);
  CHECK(status->decided_by == std::map<std::string, std::uint64_t>{{"network", 97}, {"plan", 3}});
  CHECK(parse_controller_status(R"({"decided_by":[1]})")->decided_by.empty());
}

TEST_CASE("the driver sees which nodes are off, and how often they were switched") {
  const MonoTime now = mono_from_ns(1'000'000'000);
  FleetOptions options;
  options.sleep_speedup = 1000;
  Fleet fleet(wattle::sim::synthetic_fleet(2, 3), options, now);
  const auto seen = [&](Duration after) {
    fleet.follow(now + after);
    return parse_swarm_nodes(nodes_json(fleet, now + after, 77, {}))->nodes[1].power;
  };
  fleet.turn(1, false, now);
  CHECK(seen(Duration(0)).resting_w == 0);
  CHECK(seen(std::chrono::seconds(1)).resting_w == ServerSwitch::off_w());
  fleet.turn(1, true, now + std::chrono::seconds(2));
  CHECK(seen(std::chrono::seconds(2)).resting_w == 0);
  const DrivePower back = seen(std::chrono::seconds(3));
  CHECK_FALSE(back.resting_w);
  CHECK(back.shutdowns == 1);
  CHECK(back.boots == 1);
  CHECK((*parse_controller_nodes(R"({"nodes":[{"name":"a","power":{"state":"asleep"}}]})"))[0].power_state == "asleep");
}

TEST_CASE("documents of another shape are refused") {
  CHECK_FALSE(parse_swarm_nodes("[]"));
  CHECK_FALSE(parse_swarm_nodes(R"({"nodes":[{"name":"a","watts":[1]}]})"));
  CHECK_FALSE(parse_swarm_nodes(R"({"nodes":[7]})"));
  CHECK_FALSE(parse_controller_nodes("garbage"));
  CHECK_FALSE(parse_controller_nodes(R"({"nodes":[1]})"));
  CHECK_FALSE(parse_controller_status("[]"));
}

TEST_CASE("metrics are summed by one label, and a restarted counter continues") {
  const auto values = metric_by_label(
      "# TYPE a_total counter\na_total{source=\"board\",x=\"1\"} 2\na_total{source=\"board\",x=\"2\"} 3\n"
      "a_total{source=\"neutral\"} 1\na_total_other{source=\"board\"} 9\na_total{source=\"bad\"} nonsense\n",
      "a_total", "source");
  CHECK(values == std::map<std::string, double>{{"board", 5}, {"neutral", 1}});
  RestartedCounter counter;
  for (const double value : {3.0, 5.0, 1.0, 4.0}) counter.see(value);
  CHECK(counter.sum() == 9);
}
