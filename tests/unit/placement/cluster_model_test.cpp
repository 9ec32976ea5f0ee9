// cluster_model: the estimates that policies use follow from observations, and a restart loses nothing learned.
#include "placement/cluster/cluster_model.hpp"

#include <doctest/doctest.h>

#include <numeric>

#include "placement/cluster/demand.hpp"
#include "placement/cluster/view_fleet.hpp"
#include "placement/decide/policies/registry.hpp"
#include "tests/unit/placement/fleet_choice.hpp"
#include "tests/unit/placement/use_pod.hpp"
#include "tests/unit/placement/views.hpp"

namespace wattle::placement {
namespace {

using testing::healthy_node;

constexpr std::string_view kHeavy = "ReplicaSet/encoder-5d9f8c7b4 encoder:1";
constexpr std::string_view kLight = "ReplicaSet/cache-7c6d5b4f9 cache:1";

PodSpec pod_of(const std::string& uid, std::string_view app) {
  PodSpec pod;
  pod.uid = uid;
  pod.name = uid + "-name";
  pod.app = app;
  pod.request = {1, 1e9};
  return pod;
}

// A cluster of two nodes with a manual clock and complete reports.
struct ClusterHistory {
  ClusterModel cluster_model;
  ClusterView view;
  double now_s = 0;
  explicit ClusterHistory(ClusterModelOptions options = {}) : cluster_model(options) {
    view.nodes = {healthy_node("a"), healthy_node("b")};
    for (NodeView& node : view.nodes) node.values.cpu_used_cores = 0.5;
    refresh();
  }
  void refresh() {
    view.now = MonoTime{} + from_seconds(now_s);
    cluster_model.refresh(view);
  }
  void pass(double s) {
    now_s += s;
    refresh();
  }
  MonoTime now() const { return MonoTime{} + from_seconds(now_s); }
  void place(const std::string& uid, std::string_view app, std::size_t node) {
    cluster_model.placed(pod_of(uid, app), view.nodes[node].name, now());
    view.nodes[node].requested.cpu_cores += 1;
    view.nodes[node].requested.memory_bytes += 1e9;
    ++view.nodes[node].pods;
  }
  void remove(const std::string& uid, std::size_t node) {
    cluster_model.gone(uid, now());
    view.nodes[node].requested.cpu_cores -= 1;
    view.nodes[node].requested.memory_bytes -= 1e9;
    --view.nodes[node].pods;
  }
  // Runs pods one after another, each with this usage for an hour.
  void teach(std::string_view app, double cores, int pods) {
    for (int i = 0; i < pods; ++i) {
      const std::string uid = std::string(app) + std::to_string(now_s) + std::to_string(i);
      place(uid, app, 0);
      testing::use_pod(cluster_model, uid, cores, 3600);
      pass(3600);
      remove(uid, 0);
    }
  }
};

TEST_CASE("an application is its owner and images, without the pod's name or a rollout's hash") {
  const AppKey first = app_key_of("ReplicaSet/web-5d9f8c7b4 nginx:1,envoy:2", {});
  CHECK(first.owner == "ReplicaSet/web");
  CHECK(first.image == "nginx:1,envoy:2");
  CHECK(app_key_of("ReplicaSet/web-api nginx", {}).owner == "ReplicaSet/web-api");  // a word, not a hash
  CHECK(app_key_of("Job/backup-28123456 tool", {}).owner == "Job/backup");
  CHECK(app_key_of("StatefulSet/db-0 pg", {}).owner == "StatefulSet/db-0");
  CHECK(app_key_of("registry/nginx:1", {}).owner == "registry/nginx:1");
  CHECK(app_key_of("", {}).owner.empty());
}

TEST_CASE("a tenant's pods do not affect the prediction for an application of the same name in another namespace") {
  const auto pod_in = [](const std::string& pod_namespace, const std::string& uid) {
    PodSpec pod = pod_of(uid, kHeavy);
    pod.pod_namespace = pod_namespace;
    return pod;
  };
  // The victim's pods use nine tenths of their requests; the tenant's pods, with the same owner and image, use nothing.
  ClusterHistory alone, attacked;
  for (int i = 0; i < 12; ++i) {
    for (ClusterHistory* history : {&alone, &attacked}) {
      history->cluster_model.placed(pod_in("shop", "shop" + std::to_string(i)), "a", history->now());
      testing::use_pod(history->cluster_model, "shop" + std::to_string(i), 0.9, 3600);
    }
    for (int k = 0; k < 5; ++k) {
      const std::string uid = "mallory" + std::to_string(i) + "-" + std::to_string(k);
      attacked.cluster_model.placed(pod_in("mallory", uid), "a", attacked.now());
      testing::use_pod(attacked.cluster_model, uid, 0, 3600);
    }
    for (ClusterHistory* history : {&alone, &attacked}) history->pass(3600);
  }
  const DemandPrediction expected = alone.cluster_model.predict(pod_in("shop", "next"));
  const DemandPrediction seen = attacked.cluster_model.predict(pod_in("shop", "next"));
  CHECK(seen.seen_pods == expected.seen_pods);
  CHECK(seen.cores > 0.7);
  CHECK(attacked.cluster_model.predict(pod_in("mallory", "next")).cores < 0.2);
  CHECK(attacked.cluster_model.ask(pod_in("shop", "next")).app !=
        attacked.cluster_model.ask(pod_in("mallory", "next")).app);
  // A restart keeps them apart.
  ClusterModel again;
  REQUIRE(again.restore(attacked.cluster_model.save(attacked.view)).has_value());
  CHECK(again.predict(pod_in("shop", "next")).cores == doctest::Approx(seen.cores));
}

TEST_CASE("demand and lifetime are learned from pods that ran, and predicted for the next pod of the application") {
  ClusterHistory history;
  CHECK(history.cluster_model.ask(pod_of("x", kHeavy)).demand_cores == doctest::Approx(0.5));
  history.teach(kHeavy, 0.9, 12);
  history.teach(kLight, 0.05, 12);
  CHECK(history.cluster_model.ask(pod_of("x", kHeavy)).demand_cores > 0.75);
  CHECK(history.cluster_model.ask(pod_of("y", kLight)).demand_cores < 0.2);
  CHECK(history.cluster_model.predict(pod_of("x", "ReplicaSet/encoder-6c5b4d7f8 encoder:1")).seen_pods >= 12);
  CHECK(history.cluster_model.predict(pod_of("x", kHeavy)).life_s == doctest::Approx(3600).epsilon(0.05));
  CHECK(history.cluster_model.pods().size() == 0);
}

TEST_CASE("a node's expected usage is that of its pods plus its usage outside pods") {
  ClusterHistory history;
  history.teach(kHeavy, 0.8, 20);
  const double alone = history.cluster_model.fleet(history.view).nodes[1].used_cores;
  CHECK(alone == doctest::Approx(0.5));
  history.place("p", kHeavy, 1);
  const double predicted = history.cluster_model.ask(pod_of("q", kHeavy)).demand_cores;
  CHECK(history.cluster_model.fleet(history.view).nodes[1].used_cores == doctest::Approx(alone + predicted));
  // The pod uses a tenth of that. The prediction, whose earlier pods varied little, weighs as much as a minute.
  const double expected = (0.1 + 0.9 * 60 / (3600 + 60)) * predicted;
  testing::use_pod(history.cluster_model, "p", 0.1 * predicted, 3600);
  history.view.nodes[1].values.cpu_used_cores = 0.5 + 0.1 * predicted;
  history.refresh();
  CHECK(history.cluster_model.fleet(history.view).nodes[1].used_cores == doctest::Approx(alone + expected));
  history.view.nodes[1].in_flight = 2;
  history.view.nodes[1].in_flight_request = {2, 2e9};
  const FleetNode& busy = history.cluster_model.fleet(history.view).nodes[1];
  CHECK(busy.used_cores > alone + expected);
  CHECK(busy.requested.cpu_cores == 3);
  CHECK(busy.pods == 3);
  history.view.nodes[1].in_flight = 0;
  history.view.nodes[1].in_flight_request = {};
  history.remove("p", 1);
  history.view.nodes[1].values.cpu_used_cores = 0.5;
  history.refresh();
  CHECK(history.cluster_model.fleet(history.view).nodes[1].used_cores == doctest::Approx(alone));
}

TEST_CASE("unknown replicas become known while they run: within minutes for themselves, at once for the next pod") {
  ClusterHistory history;
  const PodSpec next = pod_of("x", kHeavy);
  const double unsure = history.cluster_model.ask(next).uncertain_cores;
  CHECK(unsure > 1);  // more than its request
  for (int i = 0; i < 6; ++i) history.place("p" + std::to_string(i), kHeavy, 1);
  const auto node = [&]() -> const FleetNode& { return history.cluster_model.fleet(history.view).nodes[1]; };
  CHECK(node().used_cores == doctest::Approx(0.5 + 6 * 0.5));
  CHECK(node().uncertain_cores == doctest::Approx(6 * unsure));  // their errors are correlated
  double before = node().uncertain_cores;
  const auto run = [&](int seconds) {
    for (int s = 0; s < seconds; s += 5)
      for (int i = 0; i < 6; ++i) testing::use_pod(history.cluster_model, "p" + std::to_string(i), 0.9, 5);
  };
  for (const int minutes : {1, 1, 3}) {
    run(60 * minutes);
    CHECK(node().uncertain_cores < before);
    before = node().uncertain_cores;
  }
  CHECK(node().uncertain_cores < 0.2 * 6 * unsure);
  CHECK(node().used_cores > 0.5 + 6 * 0.8);
  CHECK(history.cluster_model.predict(next).cores > 0.6);
  CHECK(history.cluster_model.ask(next).uncertain_cores < 0.8 * unsure);
  for (int i = 0; i < 6; ++i) history.remove("p" + std::to_string(i), 1);
  CHECK(node().uncertain_cores == 0);
}

TEST_CASE("repeated reports of a pod teach the same, and after its first hour it teaches no demand") {
  const auto taught = [](double step_s, double hours) {
    ClusterHistory history;
    history.place("p", kHeavy, 0);
    for (double s = 0; s < 3600 * hours; s += step_s) testing::use_pod(history.cluster_model, "p", 0.9, step_s);
    return history.cluster_model.predict(pod_of("x", kHeavy));
  };
  const DemandPrediction often = taught(5, 1), seldom = taught(60, 1), longer = taught(5, 6);
  CHECK(often.cores == doctest::Approx(seldom.cores));
  CHECK(often.seen_pods == doctest::Approx(seldom.seen_pods));
  CHECK(longer.cores == often.cores);
  CHECK(longer.uncertain_cores == often.uncertain_cores);
}

TEST_CASE("a well-known prediction outweighs the first minutes of a deviating pod, but not its hour") {
  ClusterHistory history;
  for (int i = 0; i < 40; ++i) {
    const std::string uid = "t" + std::to_string(i);
    history.place(uid, kHeavy, 0);
    for (int s = 0; s < 3600; s += 60) testing::use_pod(history.cluster_model, uid, s % 120 == 0 ? 0.2 : 0.6, 60);
    history.remove(uid, 0);
  }
  history.place("p", kHeavy, 1);
  const auto pods_cores = [&] { return history.cluster_model.fleet(history.view).nodes[1].used_cores - 0.5; };
  CHECK(pods_cores() == doctest::Approx(0.4).epsilon(0.1));
  testing::use_pod(history.cluster_model, "p", 2, 60);  // start-up usage
  const double started = pods_cores();
  CHECK(started < 0.7);
  for (int k = 0; k < 24 * 60; ++k) testing::use_pod(history.cluster_model, "p", 2, 60);
  CHECK(pods_cores() > 1.8);
}

TEST_CASE("without an hour of history there is no forecast; churn continues the level, pods that stay the growth") {
  ClusterHistory churn;
  churn.pass(300);
  CHECK(churn.cluster_model.fleet(churn.view).expected_cores.empty());
  CHECK_FALSE(churn.cluster_model.fleet(churn.view).pods_stay);
  int next = 0;
  for (int bucket = 0; bucket < 24; ++bucket) {
    churn.place("c" + std::to_string(next), kLight, 0);
    if (next >= 4) churn.remove("c" + std::to_string(next - 4), 0);
    ++next;
    churn.pass(300);
  }
  const Fleet& steady = churn.cluster_model.fleet(churn.view);
  REQUIRE(!steady.expected_cores.empty());
  CHECK_FALSE(steady.pods_stay);
  CHECK(steady.expected_cores.back() <= 5);
  CHECK(steady.expected_cores[4] == doctest::Approx(4));
  CHECK(std::is_sorted(steady.expected_cores.begin(), steady.expected_cores.end()));

  ClusterHistory fill;
  for (int bucket = 0; bucket < 13; ++bucket) {
    fill.place("f" + std::to_string(bucket), kLight, 0);
    fill.pass(300);
  }
  const Fleet& growing = fill.cluster_model.fleet(fill.view);
  CHECK(growing.pods_stay);
  // Growth may end now, or continue for an hour at the same rate.
  CHECK(growing.expected_cores.front() == doctest::Approx(13));
  CHECK(growing.expected_cores.back() == doctest::Approx(13 + 12).epsilon(0.05));
  CHECK(growing.mean_request.cpu_cores == doctest::Approx(1));
}

TEST_CASE(
    "pods that stay: trust in the plan follows forecast accuracy and the spread of requests, also after a restart") {
  const auto trust = [](double large_cores, bool restart) {
    ClusterHistory fill;
    for (int bucket = 0; bucket < 40; ++bucket) {
      const std::string uid = "f" + std::to_string(bucket);
      PodSpec pod = pod_of(uid, kLight);
      pod.request.cpu_cores = bucket % 2 == 0 ? 1 : large_cores;
      fill.cluster_model.placed(pod, "a", fill.now());
      fill.view.nodes[0].requested.cpu_cores += pod.request.cpu_cores;
      fill.pass(300);
    }
    if (restart) {
      const std::string bytes = fill.cluster_model.save(fill.view);
      REQUIRE(fill.cluster_model.restore(bytes).has_value());
      fill.refresh();
    }
    const Fleet& fleet = fill.cluster_model.fleet(fill.view);
    REQUIRE(fleet.pods_stay);
    return fleet.trust;
  };
  const double most = trust(1, false);
  CHECK(most > 0);
  CHECK(trust(1.1, false) == doctest::Approx(most).epsilon(0.05));
  const double some = trust(1.7, false);  // their standard deviation is a quarter of their mean
  CHECK(some > 0.2 * most);
  CHECK(some < 0.8 * most);
  CHECK(trust(4, false) == 0);
  CHECK(trust(1.7, true) == doctest::Approx(some).epsilon(0.05));  // as of the last revision
}

TEST_CASE("the revision rises when a curve changes or a node joins or falls silent, and only then") {
  ClusterHistory history;
  const auto revision = [&] { return history.cluster_model.fleet(history.view).revision; };
  const auto first = revision();
  for (int i = 0; i < 20; ++i) history.pass(60);
  CHECK(revision() == first);
  for (int i = 0; i < 40; ++i) history.view.nodes[0].curve.observe(0.1 * (i % 10), 900);
  history.refresh();
  CHECK(revision() == first);  // not within the period
  history.pass(300);
  CHECK(revision() == first + 1);
  history.view.nodes[1].telemetry_age = from_seconds(30);
  history.pass(6);
  CHECK(revision() == first + 2);
  CHECK_FALSE(fits(history.cluster_model.fleet(history.view).nodes[1], {{0.1, 0}, 0.1, 0}));
  history.view.nodes.push_back(healthy_node("c"));
  CHECK(history.cluster_model.fleet(history.view).nodes.size() == 3);
  CHECK(revision() == first + 3);
}

TEST_CASE("idle nodes count as sleeping from the first sleep on, until none may sleep") {
  ClusterHistory story;
  const auto fleet = [&]() -> const Fleet& { return story.cluster_model.fleet(story.view); };
  CHECK_FALSE(fleet().idle_nodes_sleep);
  for (NodeView& node : story.view.nodes) node.wake_cost_j = 3000;
  story.pass(10);
  CHECK_FALSE(fleet().idle_nodes_sleep);  // none has slept
  story.view.nodes[1].asleep = true;
  story.pass(10);
  CHECK(fleet().idle_nodes_sleep);
  CHECK(fleet().nodes[0].sleeps);
  story.view.nodes[1].asleep = false;
  story.pass(10);
  CHECK(fleet().idle_nodes_sleep);  // it may sleep again
  story.view.nodes[0].wake_cost_j = 0;
  story.pass(10);
  CHECK(fleet().idle_nodes_sleep);
  story.view.nodes[1].wake_cost_j = 0;  // sleep was switched off
  story.pass(10);
  CHECK_FALSE(fleet().idle_nodes_sleep);
  for (const FleetNode& node : fleet().nodes) CHECK_FALSE(node.sleeps);
}

TEST_CASE("a saved model is restored completely, and damage is refused") {
  ClusterHistory before;
  before.teach(kHeavy, 0.9, 14);
  before.teach(kLight, 0.1, 14);
  for (int i = 0; i < 10; ++i) before.view.nodes[0].curve.observe(0.1 * i, 50 + 10 * i);
  before.refresh();
  const std::string bytes = before.cluster_model.save(before.view);

  ClusterHistory after;
  REQUIRE(after.cluster_model.restore(bytes).has_value());
  for (const std::string_view app : {kHeavy, kLight}) {
    const DemandPrediction was = before.cluster_model.predict(pod_of("x", app));
    const DemandPrediction is = after.cluster_model.predict(pod_of("x", app));
    CHECK(is.cores == was.cores);
    CHECK(is.life_s == was.life_s);
    CHECK(is.sd_cores == was.sd_cores);
    CHECK(is.uncertain_cores == was.uncertain_cores);
  }
  CHECK(after.cluster_model.demand().expected_demand(50) == before.cluster_model.demand().expected_demand(50));
  CHECK(after.cluster_model.forecast().expected_cores(100) == before.cluster_model.forecast().expected_cores(100));
  REQUIRE(after.cluster_model.kept_curve("a") != nullptr);
  CHECK(after.cluster_model.kept_curve("a")->points() == before.view.nodes[0].curve.points());
  CHECK(after.cluster_model.kept_curve("a")->samples() == 10);
  CHECK(after.cluster_model.kept_curve("elsewhere") == nullptr);
  // The restored model continues to learn, and is saved although its nodes are not back yet.
  after.teach(kHeavy, 0.9, 1);
  ClusterModel third;
  REQUIRE(third.restore(after.cluster_model.save(after.view)).has_value());
  CHECK(third.kept_curve("a") != nullptr);

  for (const std::size_t at : {std::size_t{3}, std::size_t{40}, bytes.size() / 2, bytes.size() - 1}) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    ClusterModel none;
    CHECK_FALSE(none.restore(damaged).has_value());
    CHECK_FALSE(none.restore(bytes.substr(0, at)).has_value());
    CHECK(none.demand().apps() == 0);
  }
}

TEST_CASE("memory is bounded for any sequence of names") {
  ClusterModelOptions options;
  options.demand.max_apps = 10;
  options.max_pods = 5;
  ClusterHistory history(options);
  for (int i = 0; i < 100; ++i) {
    const std::string uid = "p" + std::to_string(i);
    history.cluster_model.placed(pod_of(uid, "Deployment/d" + std::to_string(i) + " image"), "a", history.now());
    testing::use_pod(history.cluster_model, uid, 0.5, 3600);
    if (i >= 50) history.cluster_model.gone(uid, history.now());
  }
  CHECK(history.cluster_model.pods().size() == 5);
  CHECK(history.cluster_model.demand().apps() <= 10);
}

TEST_CASE("a view without a cluster model makes a fleet that every policy can use") {
  ClusterView view;
  view.nodes = {healthy_node("a"), healthy_node("b"), healthy_node("c")};
  view.nodes[2].allocatable = {};
  for (const PolicyInfo& info : policies()) {
    CAPTURE(info.name);
    const auto policy = make_policy(info.name).value();
    Fleet fleet = fleet_of(view);
    CHECK(testing::choose(*policy, fleet, ask_of(testing::small_pod())).has_value());
    for (FleetNode& node : fleet.nodes) node.open = &node == &fleet.nodes[1];
    CHECK(testing::choose(*policy, fleet, ask_of(testing::small_pod())) == 1);
  }
}

}  // namespace
}  // namespace wattle::placement
