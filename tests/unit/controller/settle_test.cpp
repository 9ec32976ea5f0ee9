#include "controller/decisions/settle.hpp"

#include <doctest/doctest.h>

#include "placement/worth/outcome.hpp"
#include "tests/unit/controller/helpers.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using namespace std::chrono_literals;

namespace {

// 50 W idle, 100 W more at full load, linear.
placement::PowerCurve straight() {
  std::array<double, placement::kCurvePoints> watts{};
  for (std::size_t i = 0; i < watts.size(); ++i) watts[i] = 50 + 10 * static_cast<double>(i);
  return placement::PowerCurve::known(watts);
}

MonoTime settle_at_s(std::int64_t s) { return mono_from_ns(s * kSecondNs); }

placement::PodSpec spec() {
  placement::PodSpec pod;
  pod.uid = "p1";
  return pod;
}

placement::ClusterView settled_nodes() {
  placement::ClusterView view;
  for (const char* name : {"n1", "n2"}) {
    placement::NodeView node;
    node.name = name;
    node.allocatable = {8, 8e9};
    node.curve = straight();
    node.values = record_at(1).node;
    view.nodes.push_back(node);
  }
  return view;
}

SettleWindow window_of(const placement::ClusterView& view) {
  return SettleWindow(3, spec(), "n1", 0, settle_at_s(10), 3s, placement::begin_outcome(view, spec(), 0, {}));
}

Record with_pod(std::uint64_t seq) {
  Record record = record_at(seq);
  record.workloads = {pod_values("p1", 800'000)};  // 0.8 of 8 cores: 10%
  return record;
}

}  // namespace

TEST_CASE("marginal watts are the measured watts minus the curve without the pod's own share") {
  WindowSums sums;
  for (int i = 0; i < 3; ++i) sums.add(with_pod(1), "p1");
  // 100 W at 50%; without the pod 40%: 90 W
  CHECK(*marginal_w(sums, 8, straight()) == doctest::Approx(10));
}

TEST_CASE("a pod that contains a nested cluster is judged by all of its usage, as it was placed") {
  WindowSums whole, outer;
  Record record = with_pod(1);
  whole.add(record, "p1");
  record.workloads[0].cpu_usage_us = 500'000;
  record.workloads[0].nested_cpu_us = 300'000;
  outer.add(record, "p1");
  CHECK(outer.pod_core_s == whole.pod_core_s);
}

TEST_CASE("without the pod's own usage, or without watts, there are no marginal watts") {
  WindowSums unseen;
  unseen.add(record_at(1), "p1");
  CHECK(!marginal_w(unseen, 8, straight()));
  WindowSums dark;
  Record record = with_pod(1);
  record.node.energy_uj.reset();
  dark.add(record, "p1");
  CHECK(!marginal_w(dark, 8, straight()));
  Record gap = with_pod(1);
  gap.node.domains.push_back({"package-0", 1, true});
  WindowSums wrapped;
  wrapped.add(gap, "p1");
  CHECK(!marginal_w(wrapped, 8, straight()));
}

TEST_CASE("only intervals that start after the placement count, and the window ends by itself") {
  const auto view = settled_nodes();
  SettleWindow window = window_of(view);
  window.add(with_pod(1), settle_at_s(10));  // starts before the placement
  CHECK(window.sums().records == 0);
  window.add(with_pod(2), settle_at_s(11));
  window.add(with_pod(3), settle_at_s(12));
  CHECK(!window.over(settle_at_s(12)));
  window.add(with_pod(4), settle_at_s(13));
  CHECK(window.over(settle_at_s(13)));
  window.add(with_pod(5), settle_at_s(14));
  CHECK(window.sums().records == 3);
  const auto outcome = window.finish(view);
  REQUIRE(outcome);
  CHECK(*outcome->marginal_w == doctest::Approx(10));
  CHECK(*outcome->mean_power_w == doctest::Approx(100));
  CHECK(outcome->before.workers == 2);
  CHECK(outcome->deviations_pct == doctest::Approx(0));
  const placement::WorkerAfter after = worker_after(view.nodes[1]);
  CHECK(after.cpu_pct == doctest::Approx(50));
  CHECK(after.memory_pct == doctest::Approx(12.5));
  // A new worker has no "before"; different usage of an existing one makes the nodes uneven.
  placement::ClusterView later = view;
  later.nodes[1].values.cpu_used_cores = 0;  // 50% and 0%
  later.nodes.push_back(later.nodes[1]);
  CHECK(window.finish(later)->deviations_pct == doctest::Approx(25));
}

TEST_CASE("a record ahead of others counts and does not end the window; one after the window's end is ignored") {
  const auto view = settled_nodes();
  SettleWindow window = window_of(view);
  window.add(with_pod(4), settle_at_s(13), true);
  CHECK(!window.over(settle_at_s(13)));
  window.add(with_pod(9), settle_at_s(18), true);
  CHECK(window.sums().records == 1);
  window.add(with_pod(2), settle_at_s(11));
  window.add(with_pod(3), settle_at_s(12));
  CHECK(window.sums().records == 3);
  CHECK(window.over(settle_at_s(23)));
  CHECK(window.finish(view));
}

TEST_CASE("an OOM kill of the pod, and of no other, is a failure of the placement and ends the episode") {
  const auto view = settled_nodes();
  for (const char* whose : {"p1", "p2"}) {
    CAPTURE(whose);
    const bool failed = std::string(whose) == "p1";
    SettleWindow window = window_of(view);
    Record record = with_pod(1);
    record.workloads.push_back(pod_values(whose, 0));
    record.workloads.back().memory_oom_kills = 1;
    window.add(record, settle_at_s(10));  // starts before the placement
    CHECK(window.failure().empty());
    window.add(record, settle_at_s(11));
    CHECK(window.failure() == (failed ? "oom_kill" : ""));
    const auto outcome = window.finish(view);
    REQUIRE(outcome);
    CHECK(outcome->failed == failed);
    const placement::Reward reward = placement::evaluate({}, *outcome);
    CHECK(reward.terms.at("failure") == (failed ? -1 : 0));
    CHECK(reward.end_of_episode == failed);
  }
}

TEST_CASE("contention is the time that tasks wait for other workloads, not for their own limit") {
  WindowSums sums;
  CHECK_FALSE(waited_ratio(sums).has_value());
  Record record = with_pod(1);  // 4 cores used
  record.node.pressure.cpu_some_ratio = 0.3;
  sums.add(record, "p1");
  CHECK(waited_ratio(sums).value() == doctest::Approx(0.3));
  record.workloads.push_back(pod_values("limited", 500'000));
  record.workloads.back().cpu_throttled_us = 2'000'000;  // in one of two seconds
  sums.add(record, "p1");
  CHECK(waited_ratio(sums).value() == doctest::Approx(0.3 - 1.0 / 5));
  record.workloads.back().cpu_throttled_us = 100'000'000;
  sums.add(record, "p1");
  CHECK(waited_ratio(sums).value() == 0);
}

TEST_CASE("a pod that failed before any telemetry has an outcome") {
  const auto view = settled_nodes();
  SettleWindow window = window_of(view);
  window.pod_failed("failed_start");
  window.pod_gone();
  CHECK(window.over(settle_at_s(10)));
  const auto outcome = window.finish(view);
  REQUIRE(outcome);
  CHECK(outcome->failed);
  CHECK(!outcome->marginal_w);
}

TEST_CASE("a node that reports nothing gives no outcome after a grace period") {
  const auto view = settled_nodes();
  const SettleWindow window = window_of(view);
  CHECK(!window.over(settle_at_s(14)));
  CHECK(window.over(settle_at_s(23)));
  CHECK(!window.finish(view));
}
