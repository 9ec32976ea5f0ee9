// plan_thread: the background plan equals the plan that a waiting caller would get.
#include "controller/decisions/plan_thread.hpp"

#include <doctest/doctest.h>

#include "common/clock.hpp"
#include "placement/plan/planner.hpp"
#include "tests/patience.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace std::chrono_literals;

namespace {

placement::Fleet fleet_of(std::size_t nodes) {
  placement::Fleet fleet;
  for (std::size_t i = 0; i < nodes; ++i) {
    placement::FleetNode node;
    node.allocatable = {static_cast<double>(4 + i % 5), 64e9};
    for (std::size_t k = 0; k < placement::kCurvePoints; ++k)
      node.watts[k] = 50 + static_cast<double>(k) * (5 + static_cast<double>(i % 7));
    fleet.nodes.push_back(node);
  }
  fleet.expected_cores = {10, 20};
  fleet.expected_demand = {0.2, 0.5};
  fleet.revision = nodes;
  return fleet;
}

}  // namespace

TEST_CASE("a requested plan arrives, and equals the one of a synchronous call") {
  const SystemClock clock;
  PlanThread thread;
  CHECK(thread.newest() == nullptr);
  std::shared_ptr<const placement::Plan> before;
  for (const std::size_t nodes : {3U, 20U}) {
    const placement::Fleet fleet = fleet_of(nodes);
    const MonoTime patience = clock.mono() + wattle::tests::late();
    std::shared_ptr<const placement::Plan> made;
    while (!made || made->revision() != fleet.revision) {
      REQUIRE(clock.mono() < patience);
      thread.want(fleet);
      made = thread.newest();
    }
    const placement::Plan here({}, fleet);
    CHECK(made->cost() == here.cost());
    CHECK(made->nodes() == nodes);
    REQUIRE(made->order().size() == here.order().size());
    for (std::size_t i = 0; i < here.order().size(); ++i) CHECK(made->order()[i].node == here.order()[i].node);
    CHECK(made != before);
    before = made;
  }
}

TEST_CASE("the thread ends while a plan is requested") {
  for (int i = 0; i < 20; ++i) {
    PlanThread thread;
    thread.want(fleet_of(50));
  }
}
