// The controller's features (decide, on a cluster model and a view) and the simulator's (observe_planned, on a fleet)
// are equal on the same state.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <random>

#include "placement/decide/decide.hpp"
#include "placement/decide/policies/registry.hpp"
#include "sim/improve/fleet_chooser.hpp"
#include "tests/unit/placement/use_pod.hpp"
#include "tests/unit/placement/views.hpp"

namespace wattle::placement {
namespace {

using testing::healthy_node;
using testing::names_of;

// A cluster with a history: pods of several applications started, used resources and ended, and some still run.
struct Past {
  std::mt19937_64 random;
  ClusterModel cluster_model;
  ClusterView view;
  double now_s = 0;
  std::uint64_t made = 0;

  explicit Past(std::uint64_t seed) : random(seed), cluster_model(options_of(seed)) {
    const std::size_t nodes = 2 + seed % 7;
    for (std::size_t i = 0; i < nodes; ++i) {
      NodeView node = healthy_node("n" + std::to_string(i), 4.0 + static_cast<double>(random() % 28));
      std::array<double, kCurvePoints> watts{};
      const double idle_w = real(20, 120), span_w = real(20, 300);
      for (std::size_t k = 0; k < kCurvePoints; ++k) watts[k] = idle_w + span_w * static_cast<double>(k) / 10;
      node.curve = PowerCurve::known(watts);
      node.wake_cost_j = real(0, 5000);
      view.nodes.push_back(node);
    }
    const bool churns = random() % 2 == 0;
    for (int step = 0; step < 30; ++step) {
      now_s += real(60, 900);
      view.now = MonoTime{} + from_seconds(now_s);
      place(churns);
      cluster_model.refresh(view);
    }
  }
  static ClusterModelOptions options_of(std::uint64_t seed) {
    ClusterModelOptions options;
    options.idle_nodes_sleep = seed % 3 == 0;
    return options;
  }
  double real(double from, double to) { return std::uniform_real_distribution<double>(from, to)(random); }
  PodSpec pod() {
    PodSpec pod;
    pod.uid = "pod-" + std::to_string(++made);
    pod.app = "ReplicaSet/app-" + std::to_string(random() % 4) + " image:1";
    pod.request = {0.25 * static_cast<double>(1 + random() % 4), 1e9};
    return pod;
  }
  void place(bool churns) {
    const PodSpec coming = pod();
    NodeView& node = view.nodes[random() % view.nodes.size()];
    if (node.requested.cpu_cores + coming.request.cpu_cores > node.allocatable.cpu_cores) return;
    cluster_model.placed(coming, node.name, view.now);
    testing::use_pod(cluster_model, coming.uid, real(0, 1) * coming.request.cpu_cores, 300);
    if (churns && random() % 2 == 0) {
      cluster_model.gone(coming.uid, view.now + from_seconds(real(300, 9000)));
      return;
    }
    node.requested.cpu_cores += coming.request.cpu_cores;
    node.requested.memory_bytes += coming.request.memory_bytes;
    ++node.pods;
  }
};

// The view that corresponds to the fleet, with only the values that the simulator's fleet has.
ClusterView view_of(const Fleet& fleet, const ClusterView& named) {
  ClusterView view;
  sim::fill_view(fleet, view);
  view.now = named.now;
  for (std::size_t i = 0; i < view.nodes.size(); ++i) view.nodes[i].name = named.nodes[i].name;
  return view;
}

models::Observation live(Past& past, const ClusterView& view, const PodSpec& pod, double horizon_s) {
  auto policy = make_policy("dqn");
  RC_ASSERT(policy.has_value());
  DecideOptions options;
  options.reward.horizon_s = horizon_s;
  std::mt19937_64 random(1);
  return decide(view, pod, names_of(view), {**policy, nullptr, &past.cluster_model}, options, 0, random).observation;
}

TEST_CASE("live and simulator compute the same features of the same state") {
  REQUIRE(rc::check([](std::uint64_t seed) {
    Past past(seed);
    const PodSpec pod = past.pod();
    const Fleet fleet = past.cluster_model.fleet(past.view);
    Planner planner({});
    ClusterView scratch;
    const sim::PlannedAsk simulated = sim::observe_planned(planner, fleet, past.cluster_model.ask(pod), scratch);
    RC_PRE(simulated.plan.pick.has_value());
    const models::Observation seen = live(past, view_of(fleet, past.view), pod, fleet.hold_s);
    RC_ASSERT(seen.node == simulated.observation.node);
    RC_ASSERT(seen.pod == simulated.observation.pod);
    RC_ASSERT(seen.context == simulated.observation.context);
    RC_ASSERT(seen.prior == simulated.observation.prior);
    RC_ASSERT(seen.valid == simulated.observation.valid);
    RC_ASSERT(seen.pod[10] == 1.0F);  // plan_known
  }));
}

TEST_CASE("telemetry moves no feature of the plan until the cluster model includes it") {
  REQUIRE(rc::check([](std::uint64_t seed) {
    Past past(seed);
    const PodSpec pod = past.pod();
    const Fleet fleet = past.cluster_model.fleet(past.view);
    ClusterView view = view_of(fleet, past.view);
    const models::Observation still = live(past, view, pod, fleet.hold_s);
    for (NodeView& node : view.nodes) {
      node.values.cpu_used_cores = past.real(0, 1) * node.allocatable.cpu_cores;
      node.values.pressure.cpu_some_ratio = past.real(0, 1);
      node.latency_ms["default"] = past.real(1, 50);
    }
    const models::Observation moved = live(past, view, pod, fleet.hold_s);
    for (std::size_t row = 0; row < still.nodes; ++row)
      for (const std::size_t column : {6U, 12U, 16U, 31U})  // preference, left, expected, outlives
        RC_ASSERT(still.node[row * models::kNodeFeatures + column] == moved.node[row * models::kNodeFeatures + column]);
    for (const std::size_t column : {2U, 10U, 13U, 14U, 15U}) RC_ASSERT(still.pod[column] == moved.pod[column]);
  }));
}

TEST_CASE("on a known cluster, an untrained network advises what the planner advises") {
  REQUIRE(rc::check([](std::uint64_t seed) {
    Past past(seed);
    auto network = make_policy("dqn"), planner = make_policy("planner");
    std::mt19937_64 random(1);
    for (int i = 0; i < 5; ++i) {
      const PodSpec pod = past.pod();
      const auto advise = [&](Policy& policy) {
        return decide(past.view, pod, names_of(past.view), {policy, nullptr, &past.cluster_model}, {}, 0, random)
            .record.advice;
      };
      RC_ASSERT(advise(**network) == advise(**planner));
      past.place(true);
    }
  }));
}

TEST_CASE("there is no plan under a reward without energy, or for a view without a cluster model") {
  Past past(4);
  auto policy = make_policy("dqn");
  std::mt19937_64 random(1);
  const PodSpec pod = past.pod();
  DecideOptions options;
  const auto plan_known = [&](ClusterModel* cluster_model) {
    return decide(past.view, pod, names_of(past.view), {**policy, nullptr, cluster_model}, options, 0, random)
        .observation.pod[10];
  };
  CHECK(plan_known(&past.cluster_model) == 1.0F);
  CHECK(plan_known(nullptr) == 0.0F);
  options.reward.preset = Preset::lb;
  CHECK(plan_known(&past.cluster_model) == 0.0F);
}

}  // namespace
}  // namespace wattle::placement
