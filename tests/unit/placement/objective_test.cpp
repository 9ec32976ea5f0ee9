// objective: the cost of a placement, and how the price of a budget moves.
#include "placement/worth/objective.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>

#include "placement/cluster/budget.hpp"
#include "placement/cluster/cluster_model.hpp"
#include "placement/decide/policies/registry.hpp"
#include "placement/plan/planner.hpp"
#include "tests/unit/placement/fleet_choice.hpp"
#include "tests/unit/placement/views.hpp"

namespace wattle::placement {
namespace {

FleetNode node_of(double used_cores) {
  FleetNode node;
  node.allocatable = {16, 64e9};
  node.pods = used_cores > 0 ? 4 : 0;
  node.used_cores = used_cores;
  node.used_cores2 = 1;
  node.waiting = WaitingModel::typical();
  for (std::size_t i = 0; i < kCurvePoints; ++i) node.watts[i] = 100 + 10 * static_cast<double>(i);
  return node;
}

Fleet fleet_of_loads(std::initializer_list<double> loads) {
  Fleet fleet;
  fleet.pods_stay = false;
  fleet.revision = 1;
  fleet.expected_burst_cores2 = 0.2;
  for (const double used : loads) fleet.nodes.push_back(node_of(used));
  for (FleetNode& node : fleet.nodes) node.requested = {node.used_cores / 2, 1e9};
  return fleet;
}

constexpr double kCore_w = 20;

TEST_CASE("without a price the cost of a placement is its watts, to the bit") {
  CHECK(rc::check([] {
    Fleet fleet = fleet_of_loads({*rc::gen::inRange(0, 200) / 10.0});
    const PodEstimate ask{{1, 1e9}, *rc::gen::inRange(0, 40) / 10.0, 3600, 0.5};
    RC_ASSERT(added_cost_w(fleet, 0, ask) == added_w(fleet, 0, ask));
    RC_ASSERT(amortised_cost_w(fleet, 0, ask) == amortised_w(fleet.nodes[0], ask));
    RC_ASSERT(node_cost_w(fleet.nodes[0], 5, 2, 0) == fleet.nodes[0].watts_at(5));
    fleet.cpu_wait_price_w = kCore_w;
    RC_ASSERT(added_cost_w(fleet, 0, ask) >= added_w(fleet, 0, ask));
  }));
}

TEST_CASE("the cost of a placement includes its effect on the pods that are there") {
  Fleet fleet = fleet_of_loads({4, 13});
  fleet.cpu_wait_price_w = kCore_w;
  const PodEstimate ask{{1, 1e9}, 1, 3600, 0.1};
  CHECK(added_wait_w(fleet, 0, ask) < 0.1);
  const double crowded_w = added_wait_w(fleet, 1, ask);
  const WaitingCurve& waiting = fleet.nodes[1].waiting;
  // More than its own waiting alone.
  CHECK(crowded_w > kCore_w * waiting.wait(14, 1.1, 16));
  CHECK(crowded_w == doctest::Approx(kCore_w * (14 * waiting.wait(14, 1.1, 16) - 13 * waiting.wait(13, 1, 16))));
}

TEST_CASE("an uncertain pod is expected to wait more, and draws the same watts") {
  CHECK(rc::check([] {
    const auto cores = [](int most) { return *rc::gen::inRange(0, most) / 10.0; };
    Fleet fleet = fleet_of_loads({cores(200)});
    const PodEstimate known{{1, 1e9}, cores(40), 3600, 0.5};
    PodEstimate guessed = known;
    guessed.uncertain_cores = cores(40);
    RC_ASSERT(added_cost_w(fleet, 0, guessed) == added_cost_w(fleet, 0, known));
    fleet.cpu_wait_price_w = kCore_w;
    RC_ASSERT(added_wait_w(fleet, 0, guessed) >= added_wait_w(fleet, 0, known));
    RC_ASSERT(added_w(fleet, 0, guessed) == added_w(fleet, 0, known));
  }));
  // The same holds for a pod that joins uncertain pods.
  Fleet fleet = fleet_of_loads({9, 9});
  fleet.nodes[1].uncertain_cores = 3;
  fleet.cpu_wait_price_w = kCore_w;
  const PodEstimate ask{{1, 1e9}, 1, 3600, 0.1};
  CHECK(added_wait_w(fleet, 1, ask) > 2 * added_wait_w(fleet, 0, ask));
}

TEST_CASE("with a price, planner and ranks avoid nodes whose pods wait; without one they do not change") {
  for (const char* name : {"planner", "amortised"}) {
    Fleet fleet = fleet_of_loads({14.5, 4});
    fleet.nodes[0].watts.fill(100);  // adds no watts, and is nearly full
    const PodEstimate ask{{0.5, 1e9}, 1, 3600, 0.1};
    CHECK_MESSAGE(testing::choose(*make_policy(name).value(), fleet, ask) == std::optional<std::size_t>(0), name);
    fleet.cpu_wait_price_w = 5 * kCore_w;
    CHECK_MESSAGE(testing::choose(*make_policy(name).value(), fleet, ask) == std::optional<std::size_t>(1), name);
  }
}

TEST_CASE("without trust in the forecast the planner uses the amortised rank") {
  CHECK(rc::check([] {
    Fleet fleet = fleet_of_loads({*rc::gen::inRange(0, 120) / 10.0, *rc::gen::inRange(0, 120) / 10.0, 3});
    for (FleetNode& node : fleet.nodes) node.watts.back() += *rc::gen::inRange(0, 60);
    fleet.cpu_wait_price_w = *rc::gen::inRange(0, 3) * kCore_w;
    fleet.trust = 0;
    const PodEstimate ask{{0.5, 1e9}, *rc::gen::inRange(1, 20) / 10.0, 3600, 0.1};
    const auto planned = testing::choose(*make_policy("planner").value(), fleet, ask);
    const auto ranked = testing::choose(*make_policy("amortised").value(), fleet, ask);
    RC_ASSERT(planned.has_value() && ranked.has_value());
    RC_ASSERT(std::abs(amortised_cost_w(fleet, *planned, ask) - amortised_cost_w(fleet, *ranked, ask)) < 1e-9);
  }));
}

TEST_CASE("the price rises over the budget, falls under it, stays bounded, and starts at the watts of a core") {
  Budget budget;
  CHECK(budget.price() == 0);
  budget.measure(0.01, 1, 0, true, kCore_w);
  CHECK(budget.price() == kCore_w);
  for (int i = 0; i < 600; ++i) budget.measure(0.1, 1, 1, true, kCore_w);
  const double risen_w = budget.price();
  CHECK(risen_w > 2 * kCore_w);
  CHECK(budget.measured().value() == doctest::Approx(0.1).epsilon(0.01));
  for (int i = 0; i < 7200; ++i) budget.measure(0, 1, 1, true, kCore_w);
  CHECK(budget.price() < risen_w);
  for (int i = 0; i < 100'000; ++i) budget.measure(1, 1, 1, true, kCore_w);
  CHECK(budget.price() <= 100 * kCore_w * (1 + 1e-9));
  for (int i = 0; i < 1'000'000; ++i) budget.measure(0, 1, 1, true, kCore_w);
  CHECK(budget.price() > 0);
}

TEST_CASE("a point over a large budget raises the price as much as one over a small budget; doubling a small one too") {
  const auto risen_w = [](double limit, double measured) {
    Budget budget;
    budget.set_limit(limit);
    budget.measure(100 * measured, 100, 60, true, kCore_w);
    return budget.price();
  };
  const double by_a_point_w = risen_w(0.01, 0.02);
  CHECK(by_a_point_w > kCore_w);
  CHECK(risen_w(0.08, 0.09) == doctest::Approx(by_a_point_w));
  CHECK(risen_w(0.002, 0.004) == doctest::Approx(by_a_point_w));
  CHECK(risen_w(0.08, 0.07) < kCore_w);
}

TEST_CASE("unmeasured time while a policy acts does not move the price; other time measures the default scheduler") {
  Budget budget;
  CHECK(budget.limit() == doctest::Approx(0.01));
  for (int i = 0; i < 1200; ++i) budget.measure(0.03, 1, 1, false, kCore_w);
  CHECK(budget.price() == kCore_w);
  CHECK_FALSE(budget.measured().has_value());
  CHECK(budget.under_default().value() == doctest::Approx(0.03));
  CHECK(budget.limit() == doctest::Approx(0.035));
  budget.set_limit(0.2);
  CHECK(budget.limit() == 0.2);
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  for (const double odd : {kNan, std::numeric_limits<double>::infinity(), -1.0}) {
    budget.measure(odd, 1, 1, true, kCore_w);
    budget.measure(0.5, 1, odd, true, kCore_w);
  }
  CHECK(budget.price() == kCore_w);
  budget.set_limit({});
  CHECK(budget.limit() == doctest::Approx(0.035));
}

TEST_CASE("an hour of many pods weighs more than one of few, in the measured share, the limit and the price") {
  for (const bool acting : {false, true}) {
    Budget budget;
    for (int i = 0; i < 1000; ++i) budget.measure(0.3 * 2, 2, 1, acting, kCore_w);
    for (int i = 0; i < 1000; ++i) budget.measure(0.01 * 98, 98, 1, acting, kCore_w);
    const auto reported = acting ? budget.measured() : budget.under_default();
    CHECK(reported.value() == doctest::Approx((0.3 * 2 + 0.01 * 98) / 100));
  }
  // A few pods that wait long do not raise the price while many wait less than the limit.
  Budget few;
  few.set_limit(0.05);
  few.measure(0, 100, 0, true, kCore_w);
  for (int i = 0; i < 600; ++i) few.measure(i % 2 == 0 ? 0.5 : 0.02 * 100, i % 2 == 0 ? 1 : 100, 1, true, kCore_w);
  CHECK(few.recent() == doctest::Approx(2.5 / 101).epsilon(0.02));
  CHECK(few.price() < kCore_w);
}

TEST_CASE("shares are those of pod-seconds, in any order of arrival") {
  CHECK(rc::check([] {
    Budget budget;
    double waited_s = 0, pod_s = 0;
    const int steps = *rc::gen::inRange(1, 60);
    for (int i = 0; i < steps; ++i) {
      const double pods = *rc::gen::inRange(1, 200), ratio = *rc::gen::inRange(0, 1000) / 1000.0,
                   dt_s = *rc::gen::inRange(1, 60);
      budget.measure(ratio * pods, pods, dt_s, true, kCore_w);
      waited_s += ratio * pods * dt_s;
      pod_s += pods * dt_s;
    }
    RC_ASSERT(std::abs(budget.measured().value() - waited_s / pod_s) < 1e-9);
  }));
}

TEST_CASE("a budget's price survives a restart, and damaged bytes do not become one") {
  Budget budget;
  for (int i = 0; i < 100; ++i) budget.measure(0.05, 1, 1, i % 3 != 0, kCore_w);
  PackWriter out;
  budget.pack(out);
  const std::string bytes = out.take();
  Budget read;
  PackReader in(bytes);
  read.unpack(in);
  CHECK(in.done());
  CHECK(read.price() == budget.price());
  CHECK(read.measured() == budget.measured());
  Budget other;
  PackReader cut(std::string_view(bytes).substr(0, bytes.size() - 8));
  other.unpack(cut);
  CHECK_FALSE(cut.ok());
  CHECK(other.price() == 0);
}

ClusterView view_of(double used_cores, std::optional<double> waiting) {
  ClusterView view;
  view.now += std::chrono::hours(1);
  view.nodes = {testing::healthy_node("a"), testing::healthy_node("b")};
  for (NodeView& node : view.nodes) {
    node.pods = 5;
    node.values.cpu_used_cores = used_cores;
    node.values.pressure.cpu_some_ratio = waiting;
  }
  return view;
}

TEST_CASE("a cluster without reported waiting has no price; one with reports has, and keeps it over a restart") {
  ClusterModel silent, received;
  received.pod_time().set_acting(true);
  ClusterView unknown = view_of(8, {}), known = view_of(8, 0.3);
  for (int i = 0; i < 400; ++i) {
    unknown.now += std::chrono::seconds(1);
    known.now += std::chrono::seconds(1);
    for (NodeView& node : known.nodes) node.values.cpu_used_cores = 8 + 0.01 * (i % 7);
    silent.refresh(unknown);
    received.refresh(known);
  }
  CHECK(silent.pod_time().cpu_wait().price() == 0);
  CHECK(silent.fleet(unknown).cpu_wait_price_w == 0);
  CHECK(received.pod_time().cpu_wait().measured().value() == doctest::Approx(0.3));
  CHECK(received.fleet(known).cpu_wait_price_w > 0);
  const FleetNode& node = received.fleet(known).nodes[0];
  CHECK(node.waiting.wait(8, 0, node.allocatable.cpu_cores) == doctest::Approx(0.3).epsilon(0.1));

  ClusterModel again;
  REQUIRE(again.restore(received.save(known)).has_value());
  CHECK(again.pod_time().cpu_wait().price() == received.pod_time().cpu_wait().price());
  again.refresh(known);
  // Reports the last reading once more.
  CHECK(again.fleet(known).nodes[0].waiting.wait(8, 0, 16) ==
        doctest::Approx(node.waiting.wait(8, 0, 16)).epsilon(0.01));
  // An existing price stays while there are no reports.
  const double price_w = again.pod_time().cpu_wait().price();
  again.pod_time().set_acting(true);
  for (int i = 0; i < 50; ++i) {
    unknown.now += std::chrono::seconds(1);
    again.refresh(unknown);
  }
  CHECK(again.pod_time().cpu_wait().price() == price_w);
}

}  // namespace
}  // namespace wattle::placement
