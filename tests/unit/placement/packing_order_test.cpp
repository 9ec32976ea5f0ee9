// The packing order, by fleets whose best order is known by hand, and the planner that follows it.
#include "placement/plan/packing_order.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "placement/plan/planner.hpp"

namespace wattle::placement {
namespace {

FleetNode flat(double cores, double watts) {
  FleetNode node;
  node.allocatable = {cores, 1e12};
  node.watts.fill(watts);
  node.sleep_w = 1;
  node.sleeps = true;
  return node;
}

// Pods of one core come and go, and empty nodes sleep.
Fleet fleet_with(std::vector<FleetNode> nodes, std::vector<double> expected_cores) {
  Fleet fleet;
  fleet.nodes = std::move(nodes);
  fleet.idle_nodes_sleep = true;
  fleet.pods_stay = false;
  fleet.expected_cores = std::move(expected_cores);
  fleet.expected_demand = {0.5};
  return fleet;
}

using Nodes = std::vector<std::size_t>;

TEST_CASE("a node that stays nearly empty comes after a smaller one, although its places are cheaper when filled") {
  const std::vector<FleetNode> nodes{flat(64, 200), flat(32, 120)};
  CHECK(PackingOrder(fleet_with(nodes, {12, 12, 12})).nodes() == Nodes{1, 0});
  CHECK(PackingOrder(fleet_with(nodes, {60, 60, 60})).nodes() == Nodes{0, 1});
  CHECK(PackingOrder(fleet_with(nodes, {})).nodes() == Nodes{0, 1});
}

TEST_CASE("nodes are chosen together: two that hold the expected pods precede one that leaves room unused") {
  const std::vector<FleetNode> nodes{flat(64, 190), flat(48, 150), flat(64, 260), flat(16, 60)};
  // 62 or more cores: 64 + 16 cores with all pods on one node and a little beside it.
  CHECK(PackingOrder(fleet_with(nodes, {70, 72, 74})).nodes().front() == 0);
  CHECK(PackingOrder(fleet_with(nodes, {70, 72, 74})).nodes()[1] == 3);
  const Nodes larger = PackingOrder(fleet_with(nodes, {100, 102, 104})).nodes();
  CHECK(std::max(larger[0], larger[1]) == 1);  // 64 + 48 cores, either first
}

TEST_CASE("the costs of places rise along the order, and nodes without room come last") {
  CHECK(rc::check([] {
    std::vector<FleetNode> nodes;
    const std::size_t n = *rc::gen::inRange<std::size_t>(1, 30);
    double cores = 0;
    for (std::size_t i = 0; i < n; ++i) {
      nodes.push_back(flat(*rc::gen::inRange(1, 65), *rc::gen::inRange(20, 400)));
      nodes.back().watts.back() += *rc::gen::inRange(0, 200);
      cores += nodes.back().allocatable.cpu_cores;
    }
    nodes.push_back(flat(0, 10));
    std::vector<double> expected{*rc::gen::inRange(1, 100) / 100.0 * cores, 0};
    expected[1] = 1.2 * expected[0];
    const PackingOrder order(fleet_with(nodes, expected));
    Nodes sorted = order.nodes();
    for (std::size_t k = 1; k < sorted.size(); ++k) RC_ASSERT(order.place_w(sorted[k]) > order.place_w(sorted[k - 1]));
    RC_ASSERT(sorted.back() == n);
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t i = 0; i <= n; ++i) RC_ASSERT(sorted[i] == i);
  }));
}

TEST_CASE("an order stays until another costs less by more than its hysteresis") {
  const auto fleet = [](double first_w, double second_w) {
    return fleet_with({flat(32, first_w), flat(32, second_w)}, {24, 25, 26});
  };
  const PackingOrder former(fleet(100, 101));
  CHECK(former.nodes() == Nodes{0, 1});
  CHECK(PackingOrder(fleet(100, 99.5), &former).nodes() == Nodes{0, 1});
  CHECK(PackingOrder(fleet(100, 99.5)).nodes() == Nodes{1, 0});
  CHECK(PackingOrder(fleet(100, 95), &former).nodes() == Nodes{1, 0});
}

TEST_CASE("numbers far below the present one do not count, and while cores grow the former order stays") {
  Fleet fleet = fleet_with({flat(64, 200), flat(32, 120)}, {4, 8, 60});
  const PackingOrder small(fleet);
  CHECK(small.nodes() == Nodes{1, 0});
  fleet.nodes[0].requested.cpu_cores = 58;
  CHECK(PackingOrder(fleet, &small).nodes() == Nodes{0, 1});
  fleet.nodes[1].requested.cpu_cores = 8;
  CHECK(PackingOrder(fleet, &small).nodes() == Nodes{1, 0});
  CHECK(PackingOrder(fleet).nodes() == Nodes{0, 1});
}

TEST_CASE("without trust in the plan the planner fills the packing order") {
  Fleet fleet = fleet_with({flat(8, 50), flat(8, 30), flat(8, 40)}, {12, 12, 12});
  fleet.trust = 0;
  Planner planner({});
  Nodes filled;
  const PodEstimate ask{{1, 0}, 0.5, 600};
  for (int pod = 0; pod < 17; ++pod) {
    const auto node = planner.choose(fleet, ask);
    REQUIRE(node);
    ++fleet.nodes[*node].pods;
    fleet.nodes[*node].requested.cpu_cores += 1;
    fleet.nodes[*node].sleeps = false;
    if (filled.empty() || filled.back() != *node) filled.push_back(*node);
  }
  CHECK(filled == Nodes{1, 2, 0});
}

}  // namespace
}  // namespace wattle::placement
