// tabular: tabular Q behind the network's interface, and the default scheduler's score as a policy.
#include "placement/learn/tabular.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>

#include "placement/decide/decide.hpp"
#include "placement/decide/policies/kube_scoring.hpp"
#include "placement/decide/policies/registry.hpp"
#include "tests/unit/placement/views.hpp"

namespace wattle::placement {
namespace {

models::Observation seen(const ClusterView& view) {
  return observe(view, testing::small_pod(), std::vector<std::string_view>(view.nodes.size()), RewardConfig{});
}

ClusterView two_nodes() {
  ClusterView view;
  view.nodes = {testing::healthy_node("idle"), testing::healthy_node("busy")};
  view.nodes[1].requested.cpu_cores = 10;
  view.nodes[1].pods = 5;
  return view;
}

std::vector<float> q_of(const models::QNetwork& network, const models::Observation& observation) {
  std::vector<float> q(observation.nodes);
  network.residual(observation, q);
  for (std::size_t i = 0; i < q.size(); ++i) q[i] += observation.prior[i];
  return q;
}

models::Transition bandit(const models::Observation& state, std::uint32_t action, float reward) {
  return {state, action, reward, 0, {}};
}

}  // namespace

TEST_CASE("every observation has cells; nodes with different loads have different cells, and the request moves them") {
  CHECK(rc::check([](std::uint64_t seed) {
    const models::Observation observation = seen(testing::random_view(seed, 6));
    for (const std::size_t cell : table_cells(observation)) RC_ASSERT(cell < kTableCells);
  }));
  const models::Observation observation = seen(two_nodes());
  CHECK(table_cells(observation)[0] != table_cells(observation)[1]);
  // Absolute bins would put both in one cell; relative bins separate them.
  ClusterView alike = two_nodes();
  alike.nodes[0] = alike.nodes[1];
  alike.nodes[0].name = "other";
  CHECK(table_cells(seen(alike))[0] == table_cells(seen(alike))[1]);
  ++alike.nodes[1].pods;
  CHECK(table_cells(seen(alike))[0] != table_cells(seen(alike))[1]);
  models::Observation heavy = observation;
  PodSpec large = testing::small_pod();
  large.request.cpu_cores = 8;
  const ClusterView view = two_nodes();
  heavy = observe(view, large, std::vector<std::string_view>(2), RewardConfig{});
  CHECK(table_cells(heavy)[0] != table_cells(observation)[0]);
}

TEST_CASE("an untrained table gives 0 to every node, whatever the prior") {
  const auto trainer = make_tabular_trainer();
  const auto network = network_of(trainer->weights(), trainer->steps(), "test");
  REQUIRE(network);
  for (const float q : q_of(**network, seen(two_nodes()))) CHECK(q == doctest::Approx(0));
}

TEST_CASE("the table learns which situation is rewarded, and the opposite from the opposite reward") {
  const models::Observation state = seen(two_nodes());
  for (const float sign : {1.0F, -1.0F}) {
    const auto trainer = make_tabular_trainer();
    const models::Transition good = bandit(state, 1, sign), bad = bandit(state, 0, -sign);
    const std::vector<const models::Transition*> batch{&good, &bad};
    for (int i = 0; i < 50; ++i) REQUIRE(trainer->step(batch));
    const auto network = network_of(trainer->weights(), trainer->steps(), "test");
    REQUIRE(network);
    CHECK((*network)->step() == 50);
    const std::vector<float> q = q_of(**network, state);
    CHECK(q[1] == doctest::Approx(static_cast<double>(sign)).epsilon(0.01));
    CHECK(q[0] == doctest::Approx(static_cast<double>(-sign)).epsilon(0.01));
  }
}

TEST_CASE("an unvisited cell has the mean of the others, also after a checkpoint") {
  const models::Observation state = seen(two_nodes());
  const auto trainer = make_tabular_trainer();
  const models::Transition bad = bandit(state, 0, -4);
  const std::vector<const models::Transition*> batch{&bad};
  REQUIRE(trainer->step(batch));
  const auto again = make_tabular_trainer();
  REQUIRE(again->restore(trainer->checkpoint()));
  for (const auto& each : {trainer->weights(), again->weights()})
    for (const float q : q_of(**network_of(each, 1, "test"), state)) CHECK(q == doctest::Approx(-4));
  CHECK(policy_of(**network_of(trainer->weights(), 1, "test")) == "tabular-q");
  CHECK_FALSE((*network_of(trainer->weights(), 1, "test"))->on_prior());
}

TEST_CASE("the next state counts by its best valid node") {
  const models::Observation state = seen(two_nodes());
  const auto trainer = make_tabular_trainer();
  const models::Transition last = bandit(state, 1, 4);
  models::Transition before{state, 0, 1, 0.5F, state};
  std::vector<const models::Transition*> batch{&last};
  for (int i = 0; i < 200; ++i) REQUIRE(trainer->step(batch));
  batch = {&before};
  for (int i = 0; i < 200; ++i) REQUIRE(trainer->step(batch));
  auto network = network_of(trainer->weights(), 1, "test");
  CHECK(q_of(**network, state)[0] == doctest::Approx(1 + 0.5 * 4).epsilon(0.05));
  // The good node is then masked. The other one alone is in an unvisited cell, which has the mean of the two visited
  // cells: q = 1 + 0.5 (q + 4) / 2.
  before.next.valid[1] = 0;
  for (int i = 0; i < 2000; ++i) REQUIRE(trainer->step(batch));
  network = network_of(trainer->weights(), 1, "test");
  CHECK(q_of(**network, state)[0] == doctest::Approx(8.0 / 3).epsilon(0.05));
}

TEST_CASE("a table is saved and restored, and an invalid one is refused") {
  const models::Observation state = seen(two_nodes());
  const auto trainer = make_tabular_trainer();
  const models::Transition good = bandit(state, 1, 2);
  const std::vector<const models::Transition*> batch{&good};
  for (int i = 0; i < 30; ++i) REQUIRE(trainer->step(batch));
  const auto again = make_tabular_trainer();
  REQUIRE(again->restore(trainer->checkpoint()));
  CHECK(again->steps() == 30);
  CHECK(again->checkpoint().at("online.table").values == trainer->checkpoint().at("online.table").values);
  CHECK_FALSE(again->restore({}));
  models::Weights wrong = trainer->checkpoint();
  wrong.at("online.table").values[3] = std::nanf("");
  CHECK_FALSE(again->restore(wrong));
  CHECK(again->steps() == 30);
  CHECK_FALSE(network_of({{"table", {{2}, {0, 0}}}}, 0, "test"));
}

TEST_CASE("policy kube-default gives the default scheduler's scores") {
  ClusterView view;
  view.nodes = {testing::healthy_node("full", 8), testing::healthy_node("empty", 8),
                testing::healthy_node("lopsided", 8)};
  view.nodes[0].requested = {6, 24e9};
  view.nodes[2].requested = {3, 1e9};
  auto policy = make_policy("kube-default");
  REQUIRE(policy);
  std::mt19937_64 random(1);
  const PodSpec pod = testing::small_pod();
  const PlacementDecision advice = decide(view, pod, testing::names_of(view), {**policy}, {}, 0, random);
  CHECK(advice.record.advice == "empty");
  for (std::size_t i = 0; i < 3; ++i) {
    KubeNode node;
    node.allocatable_milli_cpu = 8000;
    node.allocatable_memory_bytes = 32'000'000'000;
    add_pod(node, kube_pod(view.nodes[i].requested));
    node.nonzero_milli_cpu = node.requested_milli_cpu;
    node.nonzero_memory_bytes = node.requested_memory_bytes;
    CHECK(advice.values[i] == static_cast<double>(default_score(node, kube_pod(pod.request))));
  }
}

TEST_CASE("policy kube-default survives invalid views") {
  ClusterView view = two_nodes();
  view.nodes[0].requested.cpu_cores = std::nan("");
  view.nodes[1].allocatable.memory_bytes = INFINITY;
  auto policy = make_policy("kube-default");
  REQUIRE(policy);
  std::mt19937_64 random(1);
  const PlacementDecision advice =
      decide(view, testing::small_pod(), testing::names_of(view), {**policy}, {}, 0, random);
  CHECK(advice.scores.size() == 2);
}

}  // namespace wattle::placement
