// planner and its parts: allotment, blocks, order, matching.
#include "placement/plan/planner.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "placement/decide/policies/registry.hpp"
#include "placement/worth/objective.hpp"
#include "tests/unit/placement/fleet_choice.hpp"

namespace wattle::placement {
namespace {

double total(const CostTable& cost, const std::vector<std::size_t>& counts) {
  double sum = 0;
  for (std::size_t i = 0; i < cost.size(); ++i) sum += cost[i][counts[i]];
  return sum;
}

double least_by_hand(const CostTable& cost, std::size_t from, std::size_t n) {
  if (from == cost.size()) return n == 0 ? 0 : std::numeric_limits<double>::infinity();
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t c = 0; c < cost[from].size() && c <= n; ++c)
    least = std::min(least, cost[from][c] + least_by_hand(cost, from + 1, n - c));
  return least;
}

CostTable draw_costs(std::uint64_t seed, std::size_t nodes) {
  std::mt19937_64 random(seed);
  CostTable cost(nodes);
  for (auto& row : cost) {
    row.push_back(0);
    const std::size_t room = random() % 5;
    for (std::size_t c = 0; c < room; ++c) row.push_back(row.back() + static_cast<double>(random() % 100));
  }
  return cost;
}

FleetNode node_of(double cores, double idle_w, double full_w) {
  FleetNode node;
  node.allocatable = {cores, cores * 4e9};
  for (std::size_t i = 0; i < kCurvePoints; ++i)
    node.watts[i] = idle_w + (full_w - idle_w) * static_cast<double>(i) / static_cast<double>(kCurvePoints - 1);
  return node;
}

void put(Fleet& fleet, std::size_t i, const PodEstimate& ask) {
  FleetNode& node = fleet.nodes[i];
  ++node.pods;
  node.sleeps = false;
  node.requested.cpu_cores += ask.request.cpu_cores;
  node.requested.memory_bytes += ask.request.memory_bytes;
  node.used_cores += ask.demand_cores;
}

Fleet planner_fleet(std::uint64_t seed, std::size_t nodes, bool sleep) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> unit(0, 1);
  Fleet fleet;
  fleet.idle_nodes_sleep = sleep;
  double cores = 0;
  for (std::size_t i = 0; i < nodes; ++i) {
    FleetNode node = node_of(2 + static_cast<double>(random() % 12), 20 + 80 * unit(random), 120 + 200 * unit(random));
    node.sleeps = sleep;
    cores += node.allocatable.cpu_cores;
    fleet.nodes.push_back(node);
  }
  fleet.expected_cores = {0.3 * cores, 0.8 * cores};
  fleet.expected_demand = {0.1, 0.2, 0.4};
  fleet.mean_request = {1, 0};
  return fleet;
}

TEST_CASE("an allotment costs as little as exhaustive search finds, also if only the margin is decided exactly") {
  REQUIRE(rc::check([](std::uint64_t seed) {
    const CostTable cost = draw_costs(seed, 4);
    std::size_t room = 0;
    for (const auto& row : cost) room += row.size() - 1;
    for (std::size_t n = 0; n <= room + 1; ++n) {
      const std::vector<std::size_t> exact = optimal_allocation(cost, n, 1'000'000),
                                     near = optimal_allocation(cost, n, 0);
      std::size_t placed = 0, placed_near = 0;
      for (std::size_t i = 0; i < cost.size(); ++i) {
        RC_ASSERT(exact[i] < cost[i].size() && near[i] < cost[i].size());
        placed += exact[i];
        placed_near += near[i];
      }
      RC_ASSERT(placed == std::min(n, room));
      RC_ASSERT(placed_near == placed);
      RC_ASSERT(std::abs(total(cost, exact) - least_by_hand(cost, 0, placed)) < 1e-9);
      RC_ASSERT(total(cost, near) >= total(cost, exact) - 1e-9);
    }
  }));
}

TEST_CASE("an allotment of many servers equals dynamic programming; among equals it has the fewest pods on the last") {
  REQUIRE(rc::check([](std::uint64_t seed) {
    std::mt19937_64 random(seed);
    CostTable cost(1 + random() % 8);
    std::size_t room = 0;
    for (auto& row : cost) {
      row.push_back(static_cast<double>(random() % 3));
      for (std::size_t c = random() % 40; c > 0; --c) row.push_back(row.back() + static_cast<double>(random() % 4) - 1);
      room += row.size() - 1;
    }
    const std::size_t n = random() % (room + 1);
    // Least watts of a number of pods on the first servers, and how many of them are on the last.
    std::vector<std::vector<std::pair<double, std::size_t>>> least(1);
    least[0].assign(n + 1, {std::numeric_limits<double>::infinity(), 0});
    least[0][0].first = 0;
    for (const auto& row : cost) {
      std::vector<std::pair<double, std::size_t>> next(n + 1, {std::numeric_limits<double>::infinity(), 0});
      for (std::size_t p = 0; p <= n; ++p)
        for (std::size_t c = 0; c < std::min(row.size(), p + 1); ++c)
          next[p] = std::min(next[p], {least.back()[p - c].first + row[c], c});
      least.push_back(next);
    }
    std::vector<std::size_t> counts(cost.size());
    for (std::size_t k = cost.size(), left = n; k-- > 0; left -= counts[k]) counts[k] = least[k + 1][left].second;
    RC_ASSERT(optimal_allocation(cost, n, 10'000'000) == counts);
  }));
}

TEST_CASE("an allotment by hand: one full server beats two that idle") {
  // 50 W to wake and 1 W per pod, or 10 W to wake and 20 W per pod.
  const CostTable cost{{0, 51, 52, 53}, {0, 30, 50, 70}};
  CHECK(optimal_allocation(cost, 1, 1000) == std::vector<std::size_t>{0, 1});
  CHECK(optimal_allocation(cost, 2, 1000) == std::vector<std::size_t>{0, 2});
  CHECK(optimal_allocation(cost, 3, 1000) == std::vector<std::size_t>{3, 0});
  CHECK(optimal_allocation(cost, 9, 1000) == std::vector<std::size_t>{3, 3});
}

TEST_CASE("blocks are the lower convex envelope: waking and all cheap pods at once, then the costly ones one by one") {
  const std::vector<double> cost{0, 50, 51, 52, 80, 120};
  const auto blocks = fill_blocks(cost);
  REQUIRE(blocks.size() == 3);
  CHECK(blocks[0].to == 3);
  CHECK(blocks[0].slope_w == doctest::Approx(52.0 / 3));
  CHECK(blocks[1].to == 4);
  CHECK(blocks[2].slope_w == doctest::Approx(40));
  CHECK(fill_blocks(cost, 3).size() == 2);
  CHECK(fill_blocks(cost, 5).empty());
}

TEST_CASE("the planner never chooses a node that the pod does not fit, and fills the fleet to the last place") {
  REQUIRE(rc::check([](std::uint64_t seed, bool sleep, bool stay) {
    Fleet fleet = planner_fleet(seed, 4, sleep);
    fleet.pods_stay = stay;
    double room = 0;
    for (const FleetNode& node : fleet.nodes) room += node.allocatable.cpu_cores;
    Planner planner({});
    std::mt19937_64 random(seed);
    std::size_t placed = 0;
    for (;;) {
      const PodEstimate ask{{1, 0}, 0.1 * static_cast<double>(1 + random() % 5), 0};
      const auto chosen = planner.choose(fleet, ask);
      if (!chosen) break;
      RC_ASSERT(fits(fleet.nodes[*chosen], ask));
      put(fleet, *chosen, ask);
      ++placed;
    }
    RC_ASSERT(static_cast<double>(placed) == room);
  }));
}

TEST_CASE("the planner does not depend on the order of nodes") {
  REQUIRE(rc::check([](std::uint64_t seed, bool sleep) {
    const Fleet fleet = planner_fleet(seed, 5, sleep);
    std::vector<std::size_t> shuffled{3, 0, 4, 1, 2};
    Fleet other = fleet;
    for (std::size_t i = 0; i < shuffled.size(); ++i) other.nodes[i] = fleet.nodes[shuffled[i]];
    Planner one({}), two({});
    Fleet a = fleet, b = other;
    for (int k = 0; k < 6; ++k) {
      const PodEstimate ask{{1, 0}, k % 2 == 0 ? 0.35 : 0.15, 0};
      const auto at = one.choose(a, ask), there = two.choose(b, ask);
      RC_ASSERT(at.has_value() && there.has_value());
      RC_ASSERT(*at == shuffled[*there]);
      put(a, *at, ask);
      put(b, *there, ask);
    }
  }));
}

TEST_CASE("for a given number of pods, the planner wakes the best servers for that number") {
  // One large server with 60 W idle and ten places, and two small ones with 20 W and two places each.
  Fleet fleet;
  fleet.idle_nodes_sleep = true;
  fleet.nodes = {node_of(10, 60, 70), node_of(2, 20, 26), node_of(2, 20, 26)};
  for (FleetNode& node : fleet.nodes) node.sleeps = true;
  fleet.expected_demand = {0.5};
  for (const std::size_t pods : {std::size_t{2}, std::size_t{4}, std::size_t{8}}) {
    Fleet here = fleet;
    here.expected_cores = {static_cast<double>(pods), static_cast<double>(pods)};
    Planner planner({});
    for (std::size_t p = 0; p < pods; ++p) {
      const PodEstimate ask{{1, 0}, 0.5, 0};
      const auto chosen = planner.choose(here, ask);
      REQUIRE(chosen);
      put(here, *chosen, ask);
    }
    // 2: one small; 4: both small (46 W) before the large one (62 W); 8: the large one alone (64 W).
    CHECK(here.nodes[0].pods == (pods == 8 ? 8 : 0));
  }
}

TEST_CASE("heavy pods go to flat curves and light ones to steep curves") {
  Fleet fleet;
  fleet.nodes = {node_of(4, 50, 250), node_of(4, 50, 90)};
  fleet.expected_cores = {8, 8};
  fleet.expected_demand = {0.1, 0.1, 0.1, 0.1, 0.9, 0.9, 0.9, 0.9};
  Planner planner({});
  for (const double demand : {0.9, 0.1, 0.1, 0.9, 0.9, 0.1, 0.9, 0.1}) {
    const PodEstimate ask{{1, 0}, demand, 0};
    const auto chosen = planner.choose(fleet, ask);
    REQUIRE(chosen);
    CHECK(*chosen == (demand > 0.5 ? 1 : 0));
    put(fleet, *chosen, ask);
  }
}

TEST_CASE("a plan follows the real placements, not its own choices") {
  Fleet fleet = planner_fleet(7, 5, true);
  Planner planner({});
  const PodEstimate ask{{1, 0}, 0.2, 0};
  for (int k = 0; k < 20; ++k) {
    const auto chosen = planner.choose(fleet, ask);
    REQUIRE(chosen);
    // Another scheduler decides: the last node with room.
    for (std::size_t i = fleet.nodes.size(); i-- > 0;) {
      if (!fits(fleet.nodes[i], ask)) continue;
      put(fleet, i, ask);
      break;
    }
  }
  Planner fresh({});
  planner.replan(fleet);
  fresh.replan(fleet);
  CHECK(planner.choose(fleet, ask) == fresh.choose(fleet, ask));
}

// Plans are made when the test requests them.
class ByHand final : public PlanMaker {
 public:
  void want(const Fleet& fleet) override {
    ++wanted;
    if (!waiting) waiting = fleet;
  }
  std::shared_ptr<const Plan> newest() override { return made; }
  void make() {
    REQUIRE(waiting.has_value());
    made = std::make_shared<const Plan>(PlannerOptions{}, *waiting);
    waiting.reset();
  }
  int wanted = 0;
  std::optional<Fleet> waiting;
  std::shared_ptr<const Plan> made;
};

TEST_CASE("the planner uses amortised watts until its first plan is ready, and then the plan") {
  const Fleet fleet = planner_fleet(3, 6, true);
  const PodEstimate ask{{1, 0}, 0.3, 0};
  ByHand maker;
  Planner planner({}), waits({});
  planner.plan_with(&maker);
  planner.prepare(fleet);
  CHECK(maker.wanted == 1);
  const auto first = planner.choose(fleet, ask);
  REQUIRE(first);
  for (std::size_t i = 0; i < fleet.nodes.size(); ++i)
    if (fits(fleet.nodes[i], ask)) CHECK(amortised_w(fleet.nodes[*first], ask) <= amortised_w(fleet.nodes[i], ask));
  CHECK(planner.view(fleet, ask).nodes.empty());
  CHECK(planner.view(fleet, ask).pick == first);
  CHECK(maker.wanted == 1);  // choosing requests no plan
  maker.make();
  CHECK(planner.choose(fleet, ask) == waits.choose(fleet, ask));
  CHECK(planner.plan()->cost() == waits.plan()->cost());
  planner.prepare(fleet);
  CHECK(maker.wanted == 1);
}

TEST_CASE("an old plan is used while a newer one is made, but not for other nodes") {
  Fleet fleet = planner_fleet(4, 6, true);
  const PodEstimate ask{{1, 0}, 0.3, 0};
  ByHand maker;
  Planner planner({});
  planner.plan_with(&maker);
  planner.prepare(fleet);
  maker.make();
  REQUIRE(planner.choose(fleet, ask));
  const auto old = planner.plan();
  ++fleet.revision;
  planner.prepare(fleet);
  CHECK(maker.wanted == 2);
  const auto goes_on = planner.choose(fleet, ask);
  CHECK(planner.plan() == old);
  Planner same({});
  CHECK(goes_on == same.choose(fleet, ask));
  maker.make();
  planner.choose(fleet, ask);
  CHECK(planner.plan() != old);
  Fleet grown = fleet;
  grown.nodes.push_back(fleet.nodes.front());
  CHECK(planner.view(grown, ask).nodes.empty());
  CHECK(planner.choose(grown, ask).has_value());
}

TEST_CASE("if pods start and end, the current order is kept until another is much cheaper") {
  for (const unsigned seed : {1U, 2U, 3U, 4U, 5U}) {
    CAPTURE(seed);
    Fleet fleet = planner_fleet(seed, 8, true);
    fleet.pods_stay = false;
    const Plan former({}, fleet);
    // Small changes of readings may change the best order, but the current one is kept.
    std::mt19937_64 random(seed);
    Fleet reported = fleet;
    for (FleetNode& node : reported.nodes)
      for (double& watts : node.watts) watts *= std::uniform_real_distribution<double>(0.99, 1.01)(random);
    const Plan kept({}, reported, &former);
    REQUIRE(kept.order().size() == former.order().size());
    for (std::size_t k = 0; k < former.order().size(); ++k) {
      CHECK(kept.order()[k].node == former.order()[k].node);
      CHECK(kept.order()[k].to == former.order()[k].to);
    }
    CHECK(kept.cost() <= 1.2 * Plan({}, reported).cost() * (1 + 1e-9));
    // The best server becomes the worst: an order that is cheaper by more than a fifth is taken.
    Fleet other = fleet;
    for (double& watts : other.nodes[former.order().front().node].watts) watts *= 20;
    const Plan fresh({}, other), changed({}, other, &former);
    CHECK(changed.cost() <= 1.2 * fresh.cost() * (1 + 1e-9));
    CHECK(changed.order().front().node != former.order().front().node);
    // A former plan does not apply to other nodes or to pods that stay.
    Fleet grown = fleet;
    grown.nodes.push_back(fleet.nodes.front());
    CHECK(Plan({}, grown, &former).cost() == Plan({}, grown).cost());
    Fleet stays = fleet;
    stays.pods_stay = true;
    CHECK(Plan({}, stays, &former).cost() == Plan({}, stays).cost());
    // Nor to places that no longer exist.
    Fleet smaller = fleet;
    smaller.nodes[former.order().front().node].allocatable.cpu_cores /= 2;
    std::vector<std::size_t> places(smaller.nodes.size(), 0), fit(places);
    const Plan with({}, smaller, &former), without({}, smaller);
    for (const PlannedBlock& block : with.order()) places[block.node] += block.to - block.from;
    for (const PlannedBlock& block : without.order()) fit[block.node] += block.to - block.from;
    CHECK(places == fit);
  }
}

TEST_CASE("without trust the planner chooses as the amortised rank does if no node sleeps or pods stay") {
  CHECK(rc::check([](unsigned seed) {
    Fleet fleet = planner_fleet(seed, 6, seed % 2 == 0);
    fleet.pods_stay = fleet.idle_nodes_sleep || seed % 3 == 0;
    fleet.cpu_wait_price_w = seed % 5;
    fleet.trust = 0;
    Planner planner({});
    const PodEstimate ask{{1, 0}, 0.1 + 0.1 * (seed % 7), 600, 0.01};
    const auto amortised = make_policy("amortised");
    for (int pods = 0; pods < 12; ++pods) {
      const auto chosen = planner.choose(fleet, ask);
      RC_ASSERT(chosen.has_value());
      RC_ASSERT(amortised_cost_w(fleet, *chosen, ask) <=
                amortised_cost_w(fleet, *testing::choose(**amortised, fleet, ask), ask) + 1e-9);
      put(fleet, *chosen, ask);
    }
  }));
}

TEST_CASE("without trust the planner chooses as node-order does if pods start and end and nodes sleep") {
  CHECK(rc::check([](unsigned seed) {
    Fleet fleet = planner_fleet(seed, 6, true);
    fleet.pods_stay = false;
    fleet.idle_nodes_sleep = true;
    fleet.trust = 0;
    Planner planner({});
    const PodEstimate ask{{1, 0}, 0.1 + 0.1 * (seed % 7), 600, 0.01};
    const auto node_order = make_policy("node-order");
    for (int pods = 0; pods < 12; ++pods) {
      const auto chosen = planner.choose(fleet, ask);
      const auto first = testing::choose(**node_order, fleet, ask);
      RC_ASSERT(chosen.has_value() && first.has_value());
      RC_ASSERT(std::abs(packing_w(fleet.nodes[*chosen], fleet.usual_request) -
                         packing_w(fleet.nodes[*first], fleet.usual_request)) < 1e-9);
      put(fleet, *chosen, ask);
    }
  }));
}

}  // namespace
}  // namespace wattle::placement
