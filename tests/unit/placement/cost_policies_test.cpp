// Cost policies on a fleet alone, with cases that can be computed by hand.
#include <doctest/doctest.h>

#include <cmath>

#include "placement/decide/policies/registry.hpp"
#include "placement/worth/objective.hpp"
#include "tests/unit/placement/fleet_choice.hpp"

namespace wattle::placement {
namespace {

FleetNode node_of(double cores, std::array<double, kCurvePoints> watts, bool sleeps = false) {
  FleetNode node;
  node.allocatable = {cores, 64e9};
  node.watts = watts;
  node.sleeps = sleeps;
  node.sleep_w = 2;
  return node;
}

constexpr std::array<double, kCurvePoints> kStraight{100, 110, 120, 130, 140, 150, 160, 170, 180, 190, 200};
constexpr std::array<double, kCurvePoints> kConvex{50, 52, 54, 57, 61, 66, 74, 86, 104, 132, 180};

std::size_t choice(const char* name, const Fleet& fleet, const PodEstimate& ask) {
  auto policy = make_policy(name);
  REQUIRE(policy.has_value());
  CHECK((*policy)->name() == name);
  const auto chosen = testing::choose(**policy, fleet, ask);
  REQUIRE(chosen);
  return *chosen;
}

TEST_CASE("watts by used cores are linear between points, and the last slope continues beyond all cores") {
  const FleetNode node = node_of(10, kConvex);
  CHECK(node.watts_at(0) == doctest::Approx(50));
  CHECK(node.watts_at(0.5) == doctest::Approx(51));
  CHECK(node.watts_at(10) == doctest::Approx(180));
  CHECK(node.watts_at(11) == doctest::Approx(180 + 0.1 * 480));
}

TEST_CASE("added watts of a sleeping node include its idle watts and its wake energy over its time awake") {
  Fleet fleet;
  fleet.hold_s = 1000;
  fleet.nodes = {node_of(10, kStraight, true)};
  fleet.nodes[0].wake_j = 5000;
  const PodEstimate ask{{1, 0}, 1.0, 0};
  CHECK(added_w(fleet, 0, ask) == doctest::Approx(110 - 2 + 5));
  fleet.nodes[0].sleeps = false;
  CHECK(added_w(fleet, 0, ask) == doctest::Approx(10));
  CHECK(amortised_w(fleet.nodes[0], ask) == doctest::Approx(100.0 / 10 + 10));
}

TEST_CASE("the amortised rank minimises the long-term power of the place, not the power added now") {
  Fleet fleet;
  fleet.idle_nodes_sleep = true;
  // Awake and convex: 2 W more. Asleep with 100 W idle over 100 places: expensive now, cheap later.
  fleet.nodes = {node_of(10, kConvex), node_of(100, kStraight, true)};
  const PodEstimate ask{{1, 0}, 1.0, 0};
  CHECK(added_cost_w(fleet, 0, ask) < added_cost_w(fleet, 1, ask));
  CHECK(choice("amortised", fleet, ask) == 1);  // 1 + 1 W compared with 5 + 2 W
}

TEST_CASE("no policy chooses a full node") {
  Fleet fleet;
  fleet.nodes = {node_of(10, kStraight), node_of(10, kStraight), node_of(10, kStraight)};
  const PodEstimate ask{{1, 0}, 0.5, 0};
  for (FleetNode& node : fleet.nodes) node.requested.cpu_cores = 9.5;
  for (const PolicyInfo& info : policies()) {
    CAPTURE(info.name);
    CHECK_FALSE(testing::choose(*make_policy(info.name).value(), fleet, ask).has_value());
  }
  CHECK(make_policy("guess").error().code == Errc::not_found);
}

}  // namespace
}  // namespace wattle::placement
