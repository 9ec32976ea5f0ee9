// late: the share of pods' time beyond their soft latency limits, its budget, and what its price does to decisions.
#include <doctest/doctest.h>

#include <random>

#include "placement/decide/decide.hpp"
#include "placement/decide/decision_engine.hpp"
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

TEST_CASE("late is pods' time beyond their own soft limit, of pods that have one and whose latency is reported") {
  LateWorld world;
  world.place(limited_pod("kept", 20), 0);
  world.place(limited_pod("far", 20), 1);
  world.place(limited_pod("patient", 50), 1);  // at its limit, not beyond
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
  CHECK(world.model.pod_time().late().lately() < 0.1);
  CHECK(world.model.pod_time().late().reported());
}

TEST_CASE(
    "a node that is silent or asleep, a limit that is none, and a cluster without limits say nothing of lateness") {
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

TEST_CASE(
    "latency's price is 1 within the budget, rises beyond it, falls to 1 again, and is moved while acting alone") {
  LateWorld world;
  world.place(limited_pod("kept", 20), 0);
  world.pass(1200);
  CHECK(world.model.pod_time().late().price() == 1);
  CHECK(world.model.fleet(world.view).latency_price == 1);
  world.place(limited_pod("far", 20), 1);
  world.pass(1200);
  CHECK(world.model.pod_time().late().limit() == 0.01);
  CHECK(world.model.pod_time().late().price() == 1);  // that limit is a guess
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

// Idle watts against a latency beyond the limit.
PlacementDecision decided(DecisionEngine& engine, const ClusterView& view) {
  std::mt19937_64 random(1);
  const PodSpec pod = limited_pod("asked", 20);
  return engine.decide({.view = view, .pod = pod, .candidates = testing::names_of(view), .random = random});
}

TEST_CASE("beyond the budget a nearer node is worth more watts; what is predicted, and within it all, is as before") {
  LateWorld world;
  for (NodeView& node : world.view.nodes) node.pods = 1;
  world.view.nodes[1].latency_ms["default"] = 22;  // a little too far, and cheap
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
