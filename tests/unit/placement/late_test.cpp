// late: the share of time that pods exceed their soft latency limits, its budget, and the effect of its price on
// decisions.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <random>

#include "placement/decide/decide.hpp"
#include "placement/decide/decision_engine.hpp"
#include "placement/decide/policies/registry.hpp"
#include "placement/worth/objective.hpp"
#include "tests/unit/placement/fleet_choice.hpp"
#include "tests/unit/placement/views.hpp"

namespace wattle::placement {
namespace {

PodSpec limited_pod(const std::string& uid, std::optional<double> soft_ms, const std::string& target = "") {
  PodSpec pod = testing::small_pod();
  pod.uid = uid;
  pod.latency_soft_ms = soft_ms;
  pod.latency_target = target;
  return pod;
}

struct LateWorld {
  ClusterModel model;
  ClusterView view;
  LateWorld() {
    view.now += std::chrono::hours(1);
    view.nodes = {testing::healthy_node("near"), testing::healthy_node("far")};
    view.nodes[0].latency_ms["default"] = 5;
    view.nodes[1].latency_ms["default"] = 50;
    model.pod_time().set_acting(true);
  }
  void place(const PodSpec& pod, std::size_t node) { model.placed(pod, view.nodes[node].name, view.now); }
  void pass(int seconds) {
    for (int i = 0; i < seconds; ++i) {
      view.now += std::chrono::seconds(1);
      model.refresh(view);
    }
  }
};

TEST_CASE("lateness is time over a pod's own soft limit, of pods with a limit and a reported latency") {
  LateWorld world;
  world.place(limited_pod("kept", 20), 0);
  world.place(limited_pod("far", 20), 1);
  world.place(limited_pod("patient", 50), 1);  // at its limit, not above
  world.place(limited_pod("other target", 1, "shop"), 1);
  world.place(limited_pod("without", std::nullopt), 1);
  world.pass(100);
  CHECK(world.model.pod_time().late().measured().value() == doctest::Approx(1.0 / 3));
  world.view.nodes[0].latency_ms["shop"] = world.view.nodes[1].latency_ms["shop"] = 2;
  world.model.gone("far", world.view.now);
  world.pass(100);
  CHECK(world.model.pod_time().late().measured().value() == doctest::Approx(1.0 / 3));  // 100 s of each
  world.model.gone("other target", world.view.now);
  world.pass(600);
  CHECK(world.model.pod_time().late().recent() < 0.1);
  CHECK(world.model.pod_time().late().reported());
}

TEST_CASE("a silent or sleeping node, an invalid limit and a cluster without limits give no lateness") {
  LateWorld world;
  world.place(limited_pod("senseless", -3), 1);
  PodSpec odd = limited_pod("above the hard one", 20);
  odd.latency_hard_ms = 10;
  world.place(odd, 1);
  world.place(limited_pod("without", std::nullopt), 0);
  world.pass(50);
  CHECK_FALSE(world.model.pod_time().late().measured().has_value());
  world.place(limited_pod("far", 20), 1);
  world.view.nodes[1].telemetry_age = std::chrono::seconds(600);
  world.pass(50);
  world.view.nodes[1].telemetry_age = std::chrono::seconds(1);
  world.view.nodes[1].asleep = true;
  world.pass(50);
  world.view.nodes[1].asleep = false;
  world.view.nodes[1].latency_ms.clear();
  world.pass(50);
  CHECK_FALSE(world.model.pod_time().late().measured().has_value());
  CHECK_FALSE(world.model.pod_time().late().reported());
  CHECK(world.model.pod_time().late().price() == 0);
  CHECK(world.model.pod_time().latency_price() == 1);
}

TEST_CASE("the latency price is 1 within the budget, rises above it, falls back to 1, and changes only while acting") {
  LateWorld world;
  world.place(limited_pod("kept", 20), 0);
  world.pass(1200);
  CHECK(world.model.pod_time().late().price() == 1);
  CHECK(world.model.fleet(world.view).latency_price == 1);
  world.place(limited_pod("far", 20), 1);
  world.pass(1200);
  CHECK(world.model.pod_time().late().limit() == 0.01);
  CHECK(world.model.pod_time().late().price() == 1);  // that limit is a default
  CHECK_FALSE(world.model.pod_time().late().in_force());
  CHECK(world.model.pod_time().late().measured());
  CHECK_FALSE(world.model.pod_time().late().used_ratio());
  CHECK(world.model.pod_time().cpu_wait().in_force());
  world.model.pod_time().set_acting(false);
  world.pass(1200);
  CHECK(world.model.pod_time().late().price() == 1);
  CHECK(world.model.pod_time().late().under_default().value() == doctest::Approx(0.5));
  CHECK(world.model.pod_time().late().limit() == doctest::Approx(0.505));
  world.model.pod_time().set_limits({std::nullopt, 0.1});
  CHECK(world.model.pod_time().late().limit() == 0.1);
  CHECK(world.model.pod_time().late().in_force());
  CHECK(world.model.pod_time().late().used_ratio().value() ==
        doctest::Approx(world.model.pod_time().late().measured().value() / 0.1));
  CHECK_FALSE(world.model.pod_time().cpu_wait().limit_set());
  world.model.pod_time().set_acting(true);
  world.pass(900);
  const double price = world.model.pod_time().latency_price();
  CHECK(price > 2);
  CHECK(world.model.fleet(world.view).latency_price == price);
  LateWorld taken_back;
  taken_back.place(limited_pod("far", 20), 1);
  taken_back.model.pod_time().set_limits({std::nullopt, 0.1});
  taken_back.pass(900);
  CHECK(taken_back.model.pod_time().latency_price() > 2);
  taken_back.model.pod_time().set_limits({});
  taken_back.pass(1);
  CHECK(taken_back.model.pod_time().latency_price() == 1);
  ClusterModel again;
  REQUIRE(again.restore(world.model.save(world.view)).has_value());
  CHECK(again.pod_time().latency_price() == price);
  CHECK(again.pod_time().late().measured() == world.model.pod_time().late().measured());
  world.pass(7200);
  CHECK(world.model.pod_time().latency_price() == 100);
  world.model.gone("far", world.view.now);
  world.pass(36'000);
  CHECK(world.model.pod_time().latency_price() == 1);
}

TEST_CASE("the cost of lateness is the lost part of the latency term at its price, and 0 for a pod without limits") {
  CHECK(late_cost(1, limited_pod("p", 20), 20) == 0);
  CHECK(late_cost(1, limited_pod("p", 20), 30) == doctest::Approx(0.5));
  CHECK(late_cost(1, limited_pod("p", 20), 400) == doctest::Approx(1));
  CHECK(late_cost(7, limited_pod("p", 20), 400) == doctest::Approx(7));
  CHECK(late_cost(0.1, limited_pod("p", 20), 400) == doctest::Approx(1));
  CHECK(late_cost(1, limited_pod("p", 20), std::nullopt) == doctest::Approx(1));
  CHECK(late_cost(100, limited_pod("p", std::nullopt), 400) == 0);
  CHECK(late_cost(100, limited_pod("p", std::nullopt), std::nullopt) == 0);
}

// Eight nodes of various sizes and watts, with some pods.
Fleet fleet_of(std::mt19937_64& random) {
  Fleet fleet;
  double cores = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    FleetNode node;
    node.allocatable = {2 + static_cast<double>(random() % 12), 64e9};
    const double idle_w = 20 + static_cast<double>(random() % 80), more_w = 10 + static_cast<double>(random() % 20);
    for (std::size_t k = 0; k < kCurvePoints; ++k) node.watts[k] = idle_w + more_w * static_cast<double>(k);
    node.pods = random() % 2;
    node.requested.cpu_cores = node.used_cores = static_cast<double>(node.pods);
    cores += node.allocatable.cpu_cores;
    fleet.nodes.push_back(node);
  }
  fleet.pods_stay = random() % 2 == 0;
  fleet.idle_nodes_sleep = random() % 2 == 0;
  fleet.expected_cores = {0.3 * cores, 0.8 * cores};
  fleet.expected_demand = {0.1, 0.2, 0.4};
  return fleet;
}

TEST_CASE("cost policies respect the pod's latency limit, and place pods without one as before") {
  CHECK(rc::check([](std::uint64_t seed) {
    std::mt19937_64 random(seed);
    Fleet fleet = fleet_of(random);
    const PodEstimate ask{{1, 0}, 0.3, 600, 0.01};
    std::vector<double> latency_ms;
    for (std::size_t i = 0; i < fleet.nodes.size(); ++i) latency_ms.push_back(random() % 2 == 0 ? 5 : 80);
    const bool some_in_time = std::ranges::find(latency_ms, 5.0) != latency_ms.end();
    for (const char* name : {"planner", "node-order-costs"}) {
      const auto choice = [&](double price, std::optional<double> soft_ms, std::span<const double> at_ms) {
        fleet.latency_price = price;
        return testing::choose(**make_policy(name), fleet, ask, 0, at_ms, limited_pod("p", soft_ms)).value();
      };
      const std::size_t usual = choice(1, std::nullopt, {});
      RC_ASSERT(choice(100, std::nullopt, latency_ms) == usual);
      RC_ASSERT(choice(100, 90, latency_ms) == usual);                                  // all nodes are in time
      RC_ASSERT(choice(100, 2, std::vector<double>(fleet.nodes.size(), 80)) == usual);  // all are equally late
      RC_ASSERT(latency_ms[choice(100, 20, latency_ms)] < 20 || !some_in_time);
    }
  }));
}

TEST_CASE("node-order-costs takes the next node in time while that costs less than twice the watts") {
  Fleet fleet;
  for (const double watts : {100.0, 150.0}) {
    FleetNode node;
    node.allocatable = {4, 64e9};
    node.watts.fill(watts);
    fleet.nodes.push_back(node);
  }
  const auto policy = make_policy("node-order-costs").value();
  const std::array<double, 2> latency_ms{50, 5};
  const auto choice = [&](std::optional<double> soft_ms) {
    return testing::choose(*policy, fleet, {{1, 0}, 0.3, 600}, 0, latency_ms, limited_pod("p", soft_ms));
  };
  CHECK(choice(std::nullopt) == 0);
  CHECK(choice(20) == 1);
  CHECK(choice(40) == 0);  // a quarter of the term is lost: 125 W compared with 150 W
  fleet.nodes[1].watts.fill(210);
  CHECK(choice(20) == 0);
  fleet.latency_price = 1.2;
  CHECK(choice(20) == 1);
}

// A decision between a cheap node over the latency limit and a costly one within it.
PlacementDecision decided(DecisionEngine& engine, const ClusterView& view) {
  std::mt19937_64 random(1);
  const PodSpec pod = limited_pod("asked", 20);
  return engine.decide({.view = view, .pod = pod, .candidates = testing::names_of(view), .random = random});
}

TEST_CASE(
    "over the budget a nearer node is worth more watts; predictions, and decisions within the budget, do not change") {
  LateWorld world;
  for (NodeView& node : world.view.nodes) node.pods = 1;
  world.view.nodes[1].latency_ms["default"] = 22;  // slightly over the limit, and cheap
  const auto at = [](double watts) {
    PowerCurve curve = PowerCurve::prior(16);
    for (int i = 0; i < 400; ++i) curve.observe(0.05 * (i % 20), watts + 200 * 0.05 * (i % 20));
    return curve;
  };
  world.view.nodes[0].curve = at(400);
  world.view.nodes[1].curve = at(20);
  EngineOptions options;
  options.decide.epsilon = 0;
  DecisionEngine engine(options);
  REQUIRE(engine.set_policy("dqn", RewardConfig{}));
  engine.cluster_model().pod_time().set_acting(true);
  engine.refresh(world.view);
  const PlacementDecision before = decided(engine, world.view);
  REQUIRE(before.top);
  CHECK(before.record.advice == "far");

  engine.on_pod_started(limited_pod("runs", 20), "far", 1, world.view.now);
  engine.cluster_model().pod_time().set_limits({std::nullopt, 1.0});
  const auto pass = [&](int seconds) {
    for (int i = 0; i < seconds; ++i) {
      world.view.now += std::chrono::seconds(1);
      engine.refresh(world.view);
    }
  };
  pass(600);
  const PlacementDecision within = decided(engine, world.view);
  CHECK(within.record.advice == "far");
  CHECK(engine.cluster_model().pod_time().latency_price() == 1);
  engine.cluster_model().pod_time().set_limits({std::nullopt, 0.02});
  pass(3600);
  REQUIRE(engine.cluster_model().pod_time().latency_price() > 10);
  const PlacementDecision beyond = decided(engine, world.view);
  CHECK(beyond.record.advice == "near");
  for (std::size_t row = 0; row < 2; ++row) {
    CHECK(beyond.predictions[row].terms.latency == within.predictions[row].terms.latency);
    CHECK(beyond.predictions[row].value() == doctest::Approx(within.predictions[row].value()));
    CHECK(beyond.predictions[row].priced_latency() >= within.predictions[row].priced_latency());
    CHECK(within.predictions[row].priced_value() == within.predictions[row].value());
  }
}

}  // namespace
}  // namespace wattle::placement
