// pair_cost: how a cluster model learns which pods slow others, what that costs, and its effect on the network's plan.
#include "placement/plan/pair_cost.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "placement/cluster/cluster_model.hpp"
#include "tests/unit/placement/use_pod.hpp"
#include "tests/unit/placement/views.hpp"

namespace wattle::placement {
namespace {

constexpr double kReportedEach_s = 5;
constexpr double kShareLost = 1.0 / 3;  // of the time of a pod that takes half as long again

PodSpec pod_named(const std::string& uid, const std::string& app) {
  PodSpec pod;
  pod.uid = uid;
  pod.app = app;
  pod.request = {1, 1e9};
  return pod;
}

// Three nodes. "noisy" runs on the first and "quiet" on the second. Pods of "victim" run on all three, and the one on
// the first waits.
struct Known {
  ClusterView view;
  ClusterModel cluster_model;
  explicit Known(bool reported, double hours = 1) {
    for (const char* name : {"a", "b", "c"}) view.nodes.push_back(testing::healthy_node(name));
    const auto come = [&](const char* uid, const char* app, std::size_t row) {
      cluster_model.placed(pod_named(uid, app), view.nodes[row].name, view.now);
      ++view.nodes[row].pods;
      view.nodes[row].requested.cpu_cores += 1;
    };
    come("1", "deployment/noisy x", 0);
    come("2", "deployment/quiet x", 1);
    come("3", "deployment/victim y", 0);
    come("4", "deployment/victim y", 1);
    come("5", "deployment/victim y", 2);
    for (int k = 0; k < 720 * hours; ++k) {
      view.now += from_seconds(kReportedEach_s);
      for (NodeView& node : view.nodes) node.values.pressure.cpu_some_ratio = 0;
      const auto used = [&](const char* uid, double waited) {
        testing::use_pod(cluster_model, uid, 0.5, kReportedEach_s, reported ? std::optional(waited) : std::nullopt);
      };
      used("1", 0);
      used("2", 0);
      used("3", kShareLost);
      used("4", 0);
      used("5", 0);
      cluster_model.refresh(view);
    }
  }
  PlanView plan() {
    const PodEstimate ask = cluster_model.ask(pod_named("6", "deployment/victim y"));
    PlanView view_of;
    view_of.pick = 0;
    view_of.nodes.resize(3);
    view_of.nodes[1].preference = -0.05;
    view_of.nodes[2].preference = -0.1;
    const std::vector<std::size_t> rows{0, 1, 2};
    apply_pair_cost(cluster_model.fleet(view), ask, rows, view_of);
    return view_of;
  }
};

TEST_CASE("a cluster model learns which pods slow others, and the network's plan avoids that cost") {
  Known known(true);
  const Fleet& fleet = known.cluster_model.fleet(known.view);
  REQUIRE(fleet.pairs != nullptr);
  const PodEstimate victim = known.cluster_model.ask(pod_named("6", "deployment/victim y"));
  const PodEstimate noisy = known.cluster_model.ask(pod_named("7", "deployment/noisy x"));
  CHECK(added_pair_w(fleet, 0, victim) > 0);
  CHECK(added_pair_w(fleet, 1, victim) == 0);
  CHECK(added_pair_w(fleet, 2, victim) == 0);
  CHECK(added_pair_w(fleet, 1, noisy) > 0);   // the victim there would wait
  CHECK(added_pair_w(fleet, 0, noisy) == 0);  // the victim there already waits
  const PlanView plan = known.plan();
  CHECK(plan.pick == 1);
  CHECK(plan.avoided == 0);
  CHECK(plan.nodes[1].preference == 0);
  CHECK(plan.nodes[0].preference < -0.1);
  CHECK(plan.nodes[2].preference == doctest::Approx(-0.05));
}

TEST_CASE("without reports of pods' waiting nothing is learned, and plans do not change") {
  Known known(false);
  CHECK(known.cluster_model.fleet(known.view).pairs == nullptr);
  const PlanView plan = known.plan();
  CHECK(plan.pick == 0);
  CHECK_FALSE(plan.avoided.has_value());
  CHECK(plan.nodes[1].preference == -0.05);
}

TEST_CASE("if three or more pods wait alike the node is the cause; of two pods each may slow the other") {
  for (const int pods : {2, 3, 6}) {
    CAPTURE(pods);
    ClusterView view;
    view.nodes.push_back(testing::healthy_node("a"));
    ClusterModel cluster_model;
    for (int i = 0; i < pods; ++i)
      cluster_model.placed(
          pod_named(std::to_string(i), "deployment/" + std::string(1, static_cast<char>('a' + i)) + " x"), "a",
          view.now);
    for (int k = 0; k < 200; ++k) {
      view.now += from_seconds(kReportedEach_s);
      for (int i = 0; i < pods; ++i)
        testing::use_pod(cluster_model, std::to_string(i), 0.5, kReportedEach_s, 0.3 + 0.001 * i);
      cluster_model.refresh(view);
    }
    CHECK((cluster_model.fleet(view).pairs != nullptr) == (pods == 2));
  }
}

TEST_CASE("learned pairs survive a restart") {
  Known known(true, 0.25);
  const std::string bytes = known.cluster_model.save(known.view);
  ClusterModel read;
  REQUIRE(read.restore(bytes).has_value());
  const PairExcess* had = known.cluster_model.fleet(known.view).pairs;
  const PairExcess* has = read.fleet(known.view).pairs;
  REQUIRE(had != nullptr);
  REQUIRE(has != nullptr);
  PackWriter before, after;
  had->pack(before);
  has->pack(after);
  CHECK(before.take() == after.take());
}

}  // namespace
}  // namespace wattle::placement
