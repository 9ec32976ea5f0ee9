// deferral: a pod waits only with permission, if that is expected to cost less or no node can take it, and never for
// longer than permitted.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>

#include "placement/decide/decide.hpp"
#include "placement/decide/deferral.hpp"
#include "placement/decide/policies/registry.hpp"
#include "tests/unit/placement/views.hpp"

namespace wattle::placement {
namespace {

using testing::healthy_node;
using testing::names_of;
using testing::random_view;
using testing::small_pod;

// One node that is awake and full, and one that sleeps; pods start and end.
struct TwoNodes {
  ClusterView view;
  Fleet fleet;
  PodSpec pod;
  PodEstimate ask;
  std::vector<std::size_t> rows{0, 1};
  std::vector<std::string_view> masked{"cpu does not fit", ""};
  std::optional<std::size_t> best = 1;
  double permitted_s = 60;

  TwoNodes() {
    view.nodes = {healthy_node("awake", 8), healthy_node("asleep", 8)};
    view.nodes[0].requested.cpu_cores = 8;
    view.nodes[1].asleep = true;
    fleet.pods_stay = false;
    fleet.hold_s = 600;
    for (int i = 0; i < 2; ++i) {
      FleetNode node;
      node.allocatable = {8, 32e9};
      for (std::size_t k = 0; k < kCurvePoints; ++k) node.watts[k] = 100 + 10 * static_cast<double>(k);
      fleet.nodes.push_back(node);
    }
    fleet.nodes[0].requested = {8, 8e9};
    fleet.nodes[0].pods = 8;
    fleet.nodes[0].used_cores = 4;
    fleet.nodes[0].open = false;
    fleet.nodes[0].empties_at_s = last_ends_in_s(240, 8);  // four minutes each: the first of eight ends in 30 s
    fleet.nodes[1].sleeps = true;
    fleet.nodes[1].sleep_w = 5;
    fleet.nodes[1].wake_j = 5000;
    pod.request = {1, 1e9};
    ask = {pod.request, 0.5, 120, 0, 0};
  }
  std::optional<Deferral> asked() const {
    DeferQuestion question{view, fleet, rows, masked, best, pod, ask};
    question.permitted_s = permitted_s;
    return deferral(question);
  }
};

}  // namespace

TEST_CASE("a short pod waits for room instead of waking a node only for itself") {
  TwoNodes two;
  const auto wait = two.asked();
  REQUIRE(wait);
  CHECK(wait->again_s == 10);  // a pod may end sooner
  // Two minutes of a node's idle watts and its wake, minus half a minute of half a core at 12.5 W per core.
  CHECK(wait->saves_j == doctest::Approx(120 * 95 + 5000 - 30 * 0.5 * 12.5));
  CHECK(wait->why == "it would wake a node; an awake node is expected to have room in 30 s");
}

TEST_CASE("without permission, or with too short a permission, the pod is placed") {
  TwoNodes two;
  two.permitted_s = 0;
  CHECK(!two.asked());
  two.permitted_s = 29;
  CHECK(!two.asked());
  two.permitted_s = 31;
  CHECK(two.asked());
}

TEST_CASE("a pod is placed if pods stay, the other node is awake, or waiting costs more than a wake") {
  TwoNodes two;
  two.fleet.pods_stay = true;
  CHECK(!two.asked());
  two = {};
  two.fleet.nodes[1].sleeps = false;
  CHECK(!two.asked());
  two = {};
  two.fleet.cpu_wait_price_w = 2000;
  CHECK(!two.asked());
  two = {};
  two.pod.daemonset = true;
  CHECK(!two.asked());
}

TEST_CASE("if every node would exceed the waiting budget, the pod waits for another pod to end") {
  TwoNodes two;
  two.fleet.nodes.resize(1);
  two.rows = {0};
  two.masked = {""};
  two.best = 0;
  two.fleet.nodes[0].open = true;
  two.fleet.nodes[0].allocatable.cpu_cores = 9;
  two.fleet.nodes[0].used_cores = 8.5;
  two.fleet.nodes[0].waiting = WaitingModel::typical();
  two.fleet.cpu_wait_price_w = 100;
  two.ask.life_s = 1200;
  const auto asked = [&](double limit) {
    DeferQuestion question{two.view, two.fleet, two.rows, two.masked, two.best, two.pod, two.ask};
    question.permitted_s = two.permitted_s;
    question.wait_limit = limit;
    return deferral(question);
  };
  const double now = two.fleet.nodes[0].waiting.wait(9, 0, 9),
               then = two.fleet.nodes[0].waiting.wait(8.5 * 7 / 8 + 0.5, 0, 9);
  REQUIRE(now > then);
  CHECK(!asked(1.1 * now));   // within the budget
  CHECK(!asked(0.9 * then));  // over the budget even then
  const auto wait = asked((now + then) / 2);
  REQUIRE(wait);
  CHECK(wait->again_s == 10);
  CHECK(wait->why == "waiting would exceed the budget on every node; less waiting expected in 30 s");
}

TEST_CASE("if no node can take a pod now, it waits for one that can later, and is refused at once if none ever can") {
  TwoNodes two;
  two.best.reset();
  two.masked = {"cpu does not fit", "hard latency limit exceeded"};
  REQUIRE(two.asked());
  CHECK(two.asked()->why == "no node has room; expected in 30 s");
  two.fleet.pods_stay = true;
  REQUIRE(two.asked());
  CHECK(two.asked()->why == "no feasible node now");
  CHECK(two.asked()->again_s == 5);
  two.permitted_s = 2;
  CHECK(two.asked()->again_s == 2);
  two.masked = {"hard latency limit exceeded", "latency unknown under a hard limit"};
  CHECK(!two.asked());
  two.masked = {"cpu does not fit", "cpu does not fit"};
  two.pod.request.cpu_cores = 100;
  CHECK(!two.asked());
}

TEST_CASE("ends of pods follow exponential lifetimes") {
  TwoNodes two;
  CHECK(ends_in_s(two.fleet, 0, 0) == 0);
  CHECK(*ends_in_s(two.fleet, 0, 1) == doctest::Approx(240.0 / 8));
  CHECK(*ends_in_s(two.fleet, 0, 2) == doctest::Approx(240.0 / 8 + 240.0 / 7));
  CHECK(*ends_in_s(two.fleet, 0, 8) == doctest::Approx(two.fleet.nodes[0].empties_at_s));
  CHECK(!ends_in_s(two.fleet, 0, 9));
  CHECK(!ends_in_s(two.fleet, 1, 1));
}

TEST_CASE("no decision is deferred without permission or beyond it, and a deferred one names no node") {
  CHECK(rc::check([] {
    const ClusterView view =
        random_view(*rc::gen::arbitrary<std::uint64_t>(), 1 + *rc::gen::inRange<std::size_t>(0, 9));
    const double permitted_s = *rc::gen::element(0.0, 0.5, 3.0, 60.0, 3600.0, -1.0, double(NAN), double(INFINITY));
    const auto policy = make_policy(*rc::gen::element("dqn", "amortised", "planner")).value();
    PolicyInputs inputs{*policy};
    inputs.ahead.defer_s = permitted_s;
    PodSpec pod = small_pod();
    pod.request.cpu_cores = *rc::gen::element(0.1, 4.0, 40.0);
    std::mt19937_64 random(1);
    const PlacementDecision advice = decide(view, pod, names_of(view), inputs, {}, 1, random);
    if (!advice.deferred) {
      RC_ASSERT(advice.record.defer_ms == 0);
      RC_ASSERT(advice.record.decided_by != "defer");
      return;
    }
    RC_ASSERT(permitted_s > 0 && std::isfinite(permitted_s));
    RC_ASSERT(advice.deferred->again_s > 0 && advice.deferred->again_s <= permitted_s);
    RC_ASSERT(!advice.top);
    RC_ASSERT(advice.record.advice.empty());
    for (const std::int64_t score : advice.scores) RC_ASSERT(score == 0);
    RC_ASSERT(advice.record.decided_by == "defer");
  }));
}

}  // namespace wattle::placement
