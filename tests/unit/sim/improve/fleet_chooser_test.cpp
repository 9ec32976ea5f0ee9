// fleet_chooser: an untrained network chooses as the planner does, and a trained one still only places pods where they
// fit.
#include "sim/improve/fleet_chooser.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>

#include "models/frozen/frozen_network.hpp"
#include "models/frozen/layout.hpp"
#include "placement/worth/features.hpp"
#include "placement/worth/objective.hpp"
#include "placement/worth/shortlist.hpp"
#include "tests/unit/placement/views.hpp"

namespace wattle::placement {
namespace {

using Random = std::mt19937_64;
using sim::FleetChooser;
using sim::observe_planned;
using sim::PlannedAsk;

double draw(Random& random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}

Fleet network_fleet(std::uint64_t seed, std::size_t nodes) {
  Random random(seed);
  Fleet fleet;
  fleet.idle_nodes_sleep = random() % 2 == 0;
  fleet.pods_stay = random() % 2 == 0;
  double cores = 0;
  for (std::size_t i = 0; i < nodes; ++i) {
    FleetNode node;
    node.allocatable = {2 + static_cast<double>(random() % 12), 64e9};
    const double idle_w = draw(random, 20, 100), span_w = draw(random, 20, 200);
    for (std::size_t k = 0; k < kCurvePoints; ++k) node.watts[k] = idle_w + span_w * static_cast<double>(k) / 10;
    node.sleeps = fleet.idle_nodes_sleep;
    node.wake_j = draw(random, 0, 5000);
    cores += node.allocatable.cpu_cores;
    fleet.nodes.push_back(node);
  }
  fleet.expected_cores = {0.3 * cores, 0.8 * cores};
  fleet.expected_demand = {0.1, 0.2, 0.4};
  return fleet;
}

void put_pod(Fleet& fleet, std::size_t i, const PodEstimate& ask) {
  FleetNode& node = fleet.nodes[i];
  ++node.pods;
  node.sleeps = false;
  node.requested.cpu_cores += ask.request.cpu_cores;
  node.requested.memory_bytes += ask.request.memory_bytes;
  node.used_cores += ask.demand_cores;
  node.empties_at_s = std::max(node.empties_at_s, fleet.now_s + ask.life_s);
}

std::shared_ptr<const models::FrozenNetwork> untrained() {
  return models::FrozenNetwork::from_weights(models::initial_weights(3), 0).value();
}

TEST_CASE("an untrained network chooses as the planner does, pod after pod, until the fleet is full") {
  REQUIRE(rc::check([](std::uint64_t seed) {
    Fleet fleet = network_fleet(seed, 4);
    Planner planner({});
    FleetChooser chooser(untrained());
    Random random(seed);
    for (;;) {
      const PodEstimate ask{{1, 1e9}, 0.1 * static_cast<double>(1 + random() % 5), draw(random, 60, 9000)};
      const auto by_plan = planner.choose(fleet, ask), chosen = chooser.choose(fleet, ask);
      RC_ASSERT(by_plan == chosen);
      if (!chosen) break;
      put_pod(fleet, *chosen, ask);
      fleet.now_s += 60;
    }
  }));
}

TEST_CASE("features show the error of reports if there is a plan, and zero if the truth is known") {
  Fleet fleet = network_fleet(2, 4);
  PodEstimate ask{{1, 1e9}, 0.4, 600};
  ClusterView scratch;
  constexpr std::array<std::size_t, 4> kNode{32, 33, 34, 35};
  constexpr std::size_t kPod = 16, kContext = 8;
  const auto reported = [&](const models::Observation& seen) {
    double sum = static_cast<double>(seen.pod[kPod] + seen.context[kContext]);
    for (std::size_t i = 0; i < seen.nodes; ++i)
      for (const std::size_t k : kNode) sum += std::abs(static_cast<double>(seen.node[i * models::kNodeFeatures + k]));
    return sum;
  };
  Planner planner({});
  CHECK(reported(observe_planned(planner, fleet, ask, scratch).observation) == 0);

  fleet.forecast_error_ratio = 0.25;
  fleet.cpu_wait_price_w = 20;
  fleet.nodes[1].curve_error_w = 12;
  fleet.nodes[1].wait_error = 0.125;
  fleet.nodes[1].uncertain_cores = fleet.nodes[1].allocatable.cpu_cores / 2;
  for (FleetNode& node : fleet.nodes) node.waiting = WaitingModel::typical();
  fleet.nodes[2].used_cores = 0.8 * fleet.nodes[2].allocatable.cpu_cores;
  ask.error_cores = 0.2;
  const models::Observation seen = observe_planned(planner, fleet, ask, scratch).observation;
  const auto at = [&](std::size_t node, std::size_t k) {
    return static_cast<double>(seen.node[node * models::kNodeFeatures + k]);
  };
  const double w0 = std::exp2(8 * static_cast<double>(seen.pod[12])) - 1,
               slots = std::floor(fleet.nodes[1].allocatable.cpu_cores);
  CHECK(at(1, 32) == doctest::Approx(12 / slots / w0).epsilon(1e-3));
  CHECK(at(1, 33) == doctest::Approx(0.5));
  CHECK(at(1, 35) == doctest::Approx(0.125));
  CHECK(at(2, 34) == doctest::Approx(added_wait_w(fleet, 2, ask) / w0).epsilon(1e-3));
  CHECK(at(2, 34) > 0);
  CHECK(at(0, 32) == 0);
  CHECK(static_cast<double>(seen.pod[kPod]) == doctest::Approx(0.5));
  CHECK(static_cast<double>(seen.context[kContext]) == doctest::Approx(0.25));
}

TEST_CASE("the plan's view contains the plan's choice, and prefers no other node") {
  REQUIRE(rc::check([](std::uint64_t seed) {
    Fleet fleet = network_fleet(seed, 5);
    Planner one({}), two({});
    Random random(seed);
    for (int k = 0; k < 12; ++k) {
      const PodEstimate ask{{1, 1e9}, 0.1 * static_cast<double>(1 + random() % 5), draw(random, 60, 9000)};
      const PlanView view = one.view(fleet, ask);
      RC_ASSERT(view.pick == two.choose(fleet, ask));
      if (!view.pick) break;
      double expected = 0;
      for (std::size_t i = 0; i < view.nodes.size(); ++i) {
        RC_ASSERT((i == *view.pick) == (view.nodes[i].preference >= 0));
        RC_ASSERT(view.nodes[i].left >= 0 && view.nodes[i].empties_s >= 0);
        expected += view.nodes[i].expected;
      }
      RC_ASSERT(std::abs(expected - view.expected_pods) < 1e-6);
      put_pod(fleet, *view.pick, ask);
    }
  }));
}

TEST_CASE("a network, whatever it learned, places only where the pod fits, independent of the order of nodes") {
  const testing::MixtureNetwork network;
  const auto shared = std::shared_ptr<const models::QNetwork>(std::shared_ptr<void>(), &network);
  REQUIRE(rc::check([&](std::uint64_t seed) {
    Fleet fleet = network_fleet(seed, 5);
    const std::vector<std::size_t> shuffled{3, 0, 4, 1, 2};
    FleetChooser one(shared), two(shared);
    Random random(seed);
    for (int k = 0; k < 10; ++k) {
      const PodEstimate ask{{1, 1e9}, 0.1 * static_cast<double>(1 + random() % 5), draw(random, 60, 9000)};
      Fleet other = fleet;
      for (std::size_t i = 0; i < shuffled.size(); ++i) other.nodes[i] = fleet.nodes[shuffled[i]];
      const auto chosen = one.choose(fleet, ask), there = two.choose(other, ask);
      RC_ASSERT(chosen.has_value() == there.has_value());
      if (!chosen) break;
      RC_ASSERT(fits(fleet.nodes[*chosen], ask));
      RC_ASSERT(*chosen == shuffled[*there]);
      put_pod(fleet, *chosen, ask);
    }
  }));
}

TEST_CASE("the gate keeps the planner's choice unless another is better by more than the margin") {
  models::Observation seen;
  seen.nodes = 3;
  seen.prior = {0.0F, -0.2F, -0.2F};
  seen.valid = {1, 1, 1};
  const std::vector<float> residual{0.0F, 0.5F, 0.1F};
  CHECK(best_node(seen, residual, 0, 0.2) == std::optional<std::size_t>(1));
  CHECK(best_node(seen, residual, 0, 0.4) == std::optional<std::size_t>(0));
  CHECK(best_node(seen, residual, std::nullopt, 0.4) == std::optional<std::size_t>(1));
  seen.valid = {0, 1, 1};  // an infeasible choice is not kept
  CHECK(best_node(seen, residual, 0, 10) == std::optional<std::size_t>(1));
  seen.valid = {0, 0, 0};
  CHECK_FALSE(best_node(seen, residual, 0, 0).has_value());
}

TEST_CASE("features of a plan: absent without one, finite with one, and another reward's prior is not affected") {
  REQUIRE(rc::check([](std::uint64_t seed) {
    const Fleet fleet = network_fleet(seed, 4);
    Planner planner({});
    ClusterView view;
    const PodEstimate ask{{1, 1e9}, 0.3, seed % 3 == 0 ? std::numeric_limits<double>::infinity() : 600.0};
    PlannedAsk asked = observe_planned(planner, fleet, ask, view);
    for (const float value : asked.observation.node) RC_ASSERT(std::isfinite(value));
    for (const float value : asked.observation.pod) RC_ASSERT(std::isfinite(value));
    for (std::size_t i = 0; i < fleet.nodes.size(); ++i)
      RC_ASSERT(std::abs(asked.observation.prior[i] - static_cast<float>(asked.plan.nodes[i].preference)) < 1e-6F);
    RewardConfig doubled;
    doubled.weights.energy = 2;
    const std::vector<float> before = asked.observation.prior;
    relabel(asked.observation, doubled);
    for (std::size_t i = 0; i < before.size(); ++i)
      RC_ASSERT(std::abs(asked.observation.prior[i] - 2 * before[i]) < 1e-5F);
    PodSpec pod;
    pod.request = ask.request;
    const models::Observation bare = observe(view, pod, std::vector<std::string_view>(fleet.nodes.size()), {});
    for (const std::size_t column : {6U, 12U, 16U, 31U})
      for (std::size_t i = 0; i < bare.nodes; ++i)
        RC_ASSERT(std::abs(bare.node[i * models::kNodeFeatures + column]) <= 0.0F);
    RC_ASSERT(std::abs(bare.pod[10]) <= 0.0F);
  }));
}

}  // namespace
}  // namespace wattle::placement
