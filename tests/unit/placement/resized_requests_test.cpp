// Resized requests of running pods: the cluster model and the plan count the current requests, and remember what a
// template's next pods request.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "placement/cluster/cluster_model.hpp"
#include "placement/plan/plan.hpp"
#include "tests/unit/placement/use_pod.hpp"
#include "tests/unit/placement/views.hpp"

namespace wattle::placement {
namespace {

using testing::healthy_node;

constexpr double kGiB = 1 << 30;
constexpr Resources kTemplate{1, 16 * kGiB}, kRight{1, 4 * kGiB};

// Nodes with 16 cores and 64 GiB that sleep when empty: four pods of the template fill one, or sixteen of the right
// size.
struct SleepingFleet {
  ClusterModel model{[] {
    ClusterModelOptions options;
    options.idle_nodes_sleep = true;
    return options;
  }()};
  ClusterView view;
  double now_s = 0;
  std::map<std::string, std::pair<std::size_t, Resources>> pods;  // node and current request

  explicit SleepingFleet(std::size_t nodes) {
    for (std::size_t i = 0; i < nodes; ++i) {
      view.nodes.push_back(healthy_node("n" + std::to_string(i)));
      view.nodes.back().allocatable = {16, 64 * kGiB};
      view.nodes.back().values.cpu_used_cores = 0;
    }
    refresh();
  }
  MonoTime now() const { return MonoTime{} + from_seconds(now_s); }
  void refresh() {
    view.now = now();
    model.refresh(view);
  }
  void count(std::size_t node, const Resources& request, double sign) {
    view.nodes[node].requested.cpu_cores += sign * request.cpu_cores;
    view.nodes[node].requested.memory_bytes += sign * request.memory_bytes;
  }
  void place(const std::string& uid, std::size_t node, const Resources& request) {
    PodSpec pod;
    pod.uid = uid;
    pod.app = "ReplicaSet/web-5d9f8c7b4 web:1";
    pod.request = request;
    model.placed(pod, view.nodes[node].name, now());
    pods[uid] = {node, request};
    count(node, request, 1);
    ++view.nodes[node].pods;
  }
  void resize(const std::string& uid, const Resources& request) {
    auto& [node, has] = pods.at(uid);
    count(node, has, -1);
    has = request;
    count(node, has, 1);
    model.resized(uid, request);
  }
  void remove(const std::string& uid) {
    const auto [node, has] = pods.at(uid);
    pods.erase(uid);
    count(node, has, -1);
    --view.nodes[node].pods;
    model.gone(uid, now());
  }
  // Replaces a pod every five minutes for `hours`, so that the forecast sees churn.
  void turn_over(double hours, const Resources& comes_with, const Resources& then) {
    for (double until_s = now_s + 3600 * hours; now_s < until_s;) {
      const std::string oldest = pods.begin()->first;
      const std::size_t node = pods.begin()->second.first;
      remove(oldest);
      char uid[16];
      std::snprintf(uid, sizeof uid, "p%08d", static_cast<int>(now_s) + 1000);
      place(uid, node, comes_with);
      resize(uid, then);
      now_s += 300;
      refresh();
    }
  }
  // Returns the number of identical nodes that hold the running pods.
  std::size_t awake() {
    const Fleet& fleet = model.fleet(view);
    double cores = 0;
    std::size_t nodes = 0;
    for (const FleetNode& node : fleet.nodes) {
      if (cores >= 16) break;
      cores += fleet.usual_request.cpu_cores * places_of(node, fleet.usual_request);
      ++nodes;
    }
    return nodes;
  }
};

SleepingFleet sixteen_pods() {
  SleepingFleet fleet(6);
  for (std::size_t i = 0; i < 16; ++i) fleet.place("p0000000" + std::to_string(i), i / 4, kTemplate);
  return fleet;
}

TEST_CASE("a plan for pods with right-sized requests keeps fewer nodes awake than for their template's requests") {
  SleepingFleet as_template = sixteen_pods(), right = sixteen_pods();
  as_template.turn_over(2, kTemplate, kTemplate);
  for (std::size_t i = 0; i < 16; ++i) right.resize("p0000000" + std::to_string(i), kRight);
  right.turn_over(2, kTemplate, kRight);
  CHECK(as_template.awake() == 4);
  CHECK(right.awake() == 1);
}

TEST_CASE("a plan counts places by the request after the resize, although each pod starts with its template's") {
  SleepingFleet fleet = sixteen_pods();
  fleet.turn_over(2, kTemplate, kTemplate);
  CHECK(fleet.model.fleet(fleet.view).usual_request.memory_bytes == kTemplate.memory_bytes);
  for (const auto& [uid, pod] : std::map(fleet.pods)) fleet.resize(uid, kRight);
  fleet.turn_over(2, kTemplate, kRight);
  CHECK(fleet.model.fleet(fleet.view).mean_request.memory_bytes == doctest::Approx(kRight.memory_bytes));
  CHECK(fleet.model.fleet(fleet.view).usual_request.memory_bytes == doctest::Approx(kRight.memory_bytes).epsilon(0.11));
  // Once requests are restored, so are the places.
  for (const auto& [uid, pod] : std::map(fleet.pods)) fleet.resize(uid, kTemplate);
  CHECK(fleet.model.fleet(fleet.view).mean_request.memory_bytes == kTemplate.memory_bytes);
}

TEST_CASE("a resize does not change the predicted demand of the template's next pod") {
  SleepingFleet fleet(1);
  PodSpec next;
  next.uid = "next";
  next.app = "ReplicaSet/web-5d9f8c7b4 web:1";
  next.request = {4, kGiB};
  double before = 0;
  for (int i = 0; i < 20; ++i) {
    const std::string uid = "p" + std::to_string(i);
    fleet.place(uid, 0, {4, kGiB});
    if (i >= 10) fleet.resize(uid, {1, kGiB});
    testing::use_pod(fleet.model, uid, 0.8, 3600);
    if (i == 9) before = fleet.model.predict(next).cores;
  }
  CHECK(before == doctest::Approx(0.8).epsilon(0.1));
  CHECK(fleet.model.predict(next).cores == doctest::Approx(0.8).epsilon(0.1));
  CHECK(fleet.model.running(fleet.model.pods().find("p19")).value().request.cpu_cores == 1);
}

TEST_CASE("pods that stay and are made smaller still count as pods that stay") {
  SleepingFleet fleet(6);
  for (int i = 0; i < 18; ++i) {
    fleet.place("p" + std::to_string(i), static_cast<std::size_t>(i) / 4, {2, kGiB});
    if (i > 0) fleet.resize("p" + std::to_string(i - 1), {1, kGiB});
    fleet.now_s += 300;
    fleet.refresh();
  }
  REQUIRE(fleet.model.forecast().known());
  CHECK(fleet.model.forecast().pods_stay());
}

TEST_CASE("a resize of an unknown pod changes nothing, and a state that was saved after resizes can be restored") {
  SleepingFleet fleet = sixteen_pods();
  fleet.model.resized("unknown", {9, 9 * kGiB});
  CHECK(fleet.model.fleet(fleet.view).mean_request.cpu_cores == 1);
  fleet.turn_over(2, kTemplate, {0.25, kGiB});
  // This bucket has only resizes, so the sum of arrivals is negative.
  for (const auto& [uid, pod] : std::map(fleet.pods)) fleet.resize(uid, {0.1, kGiB});
  fleet.now_s += 300;
  fleet.refresh();
  ClusterModel again;
  REQUIRE(again.restore(fleet.model.save(fleet.view)));
  CHECK(again.save({}) == again.save({}));
  CHECK(again.fleet({}).mean_request.memory_bytes == doctest::Approx(kTemplate.memory_bytes));
}

TEST_CASE("the mean request is that of arriving pods times the ratio that resizes left of the running ones") {
  CHECK(rc::check([] {
    SleepingFleet fleet(3);
    std::map<std::string, Resources> arrived;
    const auto request = [] { return Resources{*rc::gen::inRange(1, 40) / 8.0, *rc::gen::inRange(1, 40) * kGiB / 4}; };
    std::vector<Resources> all;
    const int steps = *rc::gen::inRange(1, 60);
    for (int i = 0; i < steps; ++i) {
      const int what = arrived.empty() ? 0 : *rc::gen::inRange(0, 3);
      const auto pick = [&] {
        return std::next(arrived.begin(), *rc::gen::inRange<int>(0, static_cast<int>(arrived.size())))->first;
      };
      if (what == 0) {
        const std::string uid = "p" + std::to_string(i);
        arrived[uid] = request();
        all.push_back(arrived[uid]);
        fleet.place(uid, static_cast<std::size_t>(i) % 3, arrived[uid]);
      } else if (what == 1) {
        fleet.resize(pick(), request());
      } else {
        const std::string uid = pick();
        arrived.erase(uid);
        fleet.remove(uid);
      }
    }
    double mean = 0, arrived_with = 0, now = 0;
    for (const Resources& each : all) mean += each.memory_bytes / static_cast<double>(all.size());
    for (const auto& [uid, each] : arrived) arrived_with += each.memory_bytes;
    for (const auto& [uid, pod] : fleet.pods) now += pod.second.memory_bytes;
    const double expected = arrived.empty() ? mean : mean * now / arrived_with;
    RC_ASSERT(std::abs(fleet.model.fleet(fleet.view).mean_request.memory_bytes - expected) < 1e-9 * expected + 1);
  }));
}

}  // namespace
}  // namespace wattle::placement
