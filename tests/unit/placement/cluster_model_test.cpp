// knowledge: what rules are told follows from what was seen, and a restart loses nothing that was learned.
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

// A cluster of two nodes whose time is turned by hand; nothing forgets to tell.
struct Story {
  ClusterModel cluster_model;
  ClusterView view;
  double now_s = 0;
  explicit Story(ClusterModelOptions options = {}) : cluster_model(options) {
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
  // Pods that come, use so much for an hour and go.
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

TEST_CASE("an application is its owner and images: neither the pod's name nor the hash of a rollout") {
  const AppKey first = app_key_of("ReplicaSet/web-5d9f8c7b4 nginx:1,envoy:2", {});
  CHECK(first.owner == "ReplicaSet/web");
  CHECK(first.image == "nginx:1,envoy:2");
  CHECK(app_key_of("ReplicaSet/web-api nginx", {}).owner == "ReplicaSet/web-api");  // a word, no hash
  CHECK(app_key_of("Job/backup-28123456 tool", {}).owner == "Job/backup");
  CHECK(app_key_of("StatefulSet/db-0 pg", {}).owner == "StatefulSet/db-0");
  CHECK(app_key_of("registry/nginx:1", {}).owner == "registry/nginx:1");
  CHECK(app_key_of("", {}).owner.empty());
}

TEST_CASE("a tenant's pods do not change what is predicted for another namespace's application of the same name") {
  const auto pod_in = [](const std::string& pod_namespace, const std::string& uid) {
    PodSpec pod = pod_of(uid, kHeavy);
    pod.pod_namespace = pod_namespace;
    return pod;
  };
  // The victim's pods use nine tenths of what they request; those of the tenant, of the same owner and image, nothing at all.
  Story alone, attacked;
  for (int i = 0; i < 12; ++i) {
    for (Story* story : {&alone, &attacked}) {
      story->cluster_model.placed(pod_in("shop", "shop" + std::to_string(i)), "a", story->now());
      testing::use_pod(story->cluster_model, "shop" + std::to_string(i), 0.9, 3600);
    }
    for (int k = 0; k < 5; ++k) {
      const std::string uid = "mallory" + std::to_string(i) + "-" + std::to_string(k);
      attacked.cluster_model.placed(pod_in("mallory", uid), "a", attacked.now());
      testing::use_pod(attacked.cluster_model, uid, 0, 3600);
    }
    for (Story* story : {&alone, &attacked}) story->pass(3600);
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

TEST_CASE("demand and life are learned from pods that ran, and predicted for the next of their application") {
  Story story;
  CHECK(story.cluster_model.ask(pod_of("x", kHeavy)).demand_cores == doctest::Approx(0.5));
  story.teach(kHeavy, 0.9, 12);
  story.teach(kLight, 0.05, 12);
  CHECK(story.cluster_model.ask(pod_of("x", kHeavy)).demand_cores > 0.75);
  CHECK(story.cluster_model.ask(pod_of("y", kLight)).demand_cores < 0.2);
  CHECK(story.cluster_model.predict(pod_of("x", "ReplicaSet/encoder-6c5b4d7f8 encoder:1")).seen_pods >= 12);
  CHECK(story.cluster_model.predict(pod_of("x", kHeavy)).life_s == doctest::Approx(3600).epsilon(0.05));
  CHECK(story.cluster_model.pods().size() == 0);
}

TEST_CASE("a node's expected use is that of its pods and of what it runs beside them") {
  Story story;
  story.teach(kHeavy, 0.8, 20);
  const double alone = story.cluster_model.fleet(story.view).nodes[1].used_cores;
  CHECK(alone == doctest::Approx(0.5));
  story.place("p", kHeavy, 1);
  const double predicted = story.cluster_model.ask(pod_of("q", kHeavy)).demand_cores;
  CHECK(story.cluster_model.fleet(story.view).nodes[1].used_cores == doctest::Approx(alone + predicted));
  // It turns out to use a tenth of that: the prediction, whose pods were seen not to stray, weighs a minute.
  const double expected = (0.1 + 0.9 * 60 / (3600 + 60)) * predicted;
  testing::use_pod(story.cluster_model, "p", 0.1 * predicted, 3600);
  story.view.nodes[1].values.cpu_used_cores = 0.5 + 0.1 * predicted;
  story.refresh();
  CHECK(story.cluster_model.fleet(story.view).nodes[1].used_cores == doctest::Approx(alone + expected));
  story.view.nodes[1].in_flight = 2;
  story.view.nodes[1].in_flight_request = {2, 2e9};
  const FleetNode& busy = story.cluster_model.fleet(story.view).nodes[1];
  CHECK(busy.used_cores > alone + expected);
  CHECK(busy.requested.cpu_cores == 3);
  CHECK(busy.pods == 3);
  story.view.nodes[1].in_flight = 0;
  story.view.nodes[1].in_flight_request = {};
  story.remove("p", 1);
  story.view.nodes[1].values.cpu_used_cores = 0.5;
  story.refresh();
  CHECK(story.cluster_model.fleet(story.view).nodes[1].used_cores == doctest::Approx(alone));
}

TEST_CASE("unknown replicas become known while they run: their own use within minutes, for the next at once") {
  Story story;
  const PodSpec next = pod_of("x", kHeavy);
  const double unsure = story.cluster_model.ask(next).unsure_cores;
  CHECK(unsure > 1);  // beyond its request
  for (int i = 0; i < 6; ++i) story.place("p" + std::to_string(i), kHeavy, 1);
  const auto node = [&]() -> const FleetNode& { return story.cluster_model.fleet(story.view).nodes[1]; };
  CHECK(node().used_cores == doctest::Approx(0.5 + 6 * 0.5));
  CHECK(node().unsure_cores == doctest::Approx(6 * unsure));  // they are off together
  double before = node().unsure_cores;
  const auto run = [&](int seconds) {
    for (int s = 0; s < seconds; s += 5)
      for (int i = 0; i < 6; ++i) testing::use_pod(story.cluster_model, "p" + std::to_string(i), 0.9, 5);
  };
  for (const int minutes : {1, 1, 3}) {
    run(60 * minutes);
    CHECK(node().unsure_cores < before);
    before = node().unsure_cores;
  }
  CHECK(node().unsure_cores < 0.2 * 6 * unsure);
  CHECK(node().used_cores > 0.5 + 6 * 0.8);
  CHECK(story.cluster_model.predict(next).cores > 0.6);
  CHECK(story.cluster_model.ask(next).unsure_cores < 0.8 * unsure);
  for (int i = 0; i < 6; ++i) story.remove("p" + std::to_string(i), 1);
  CHECK(node().unsure_cores == 0);
}

TEST_CASE("repeated reports of a pod teach the same, and beyond its first hour it teaches no demand") {
  const auto taught = [](double step_s, double hours) {
    Story story;
    story.place("p", kHeavy, 0);
    for (double s = 0; s < 3600 * hours; s += step_s) testing::use_pod(story.cluster_model, "p", 0.9, step_s);
    return story.cluster_model.predict(pod_of("x", kHeavy));
  };
  const DemandPrediction often = taught(5, 1), seldom = taught(60, 1), longer = taught(5, 6);
  CHECK(often.cores == doctest::Approx(seldom.cores));
  CHECK(often.seen_pods == doctest::Approx(seldom.seen_pods));
  CHECK(longer.cores == often.cores);
  CHECK(longer.unsure_cores == often.unsure_cores);
}

TEST_CASE("what is known well outweighs the first minutes of a pod that strays, and not its hour") {
  Story story;
  for (int i = 0; i < 40; ++i) {
    const std::string uid = "t" + std::to_string(i);
    story.place(uid, kHeavy, 0);
    for (int s = 0; s < 3600; s += 60) testing::use_pod(story.cluster_model, uid, s % 120 == 0 ? 0.2 : 0.6, 60);
    story.remove(uid, 0);
  }
  story.place("p", kHeavy, 1);
  const auto pods_cores = [&] { return story.cluster_model.fleet(story.view).nodes[1].used_cores - 0.5; };
  CHECK(pods_cores() == doctest::Approx(0.4).epsilon(0.1));
  testing::use_pod(story.cluster_model, "p", 2, 60);  // it starts
  const double started = pods_cores();
  CHECK(started < 0.7);
  for (int k = 0; k < 24 * 60; ++k) testing::use_pod(story.cluster_model, "p", 2, 60);
  CHECK(pods_cores() > 1.8);
}

TEST_CASE(
    "without an hour of past nothing is expected; with churn the past's level, with pods that stay their growth") {
  Story churn;
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

  Story fill;
  for (int bucket = 0; bucket < 13; ++bucket) {
    fill.place("f" + std::to_string(bucket), kLight, 0);
    fill.pass(300);
  }
  const Fleet& growing = fill.cluster_model.fleet(fill.view);
  CHECK(growing.pods_stay);
  // It may end now, or go on for an hour as it did.
  CHECK(growing.expected_cores.front() == doctest::Approx(13));
  CHECK(growing.expected_cores.back() == doctest::Approx(13 + 12).epsilon(0.05));
  CHECK(growing.mean_request.cpu_cores == doctest::Approx(1));
}

TEST_CASE(
    "pods that stay: the plan is trusted as far as the forecast was right and requests are alike, over a restart too") {
  const auto trust = [](double large_cores, bool restart) {
    Story fill;
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
  const double some = trust(1.7, false);  // their deviation is a quarter of their mean
  CHECK(some > 0.2 * most);
  CHECK(some < 0.8 * most);
  CHECK(trust(4, false) == 0);
  CHECK(trust(1.7, true) == doctest::Approx(some).epsilon(0.05));  // as of the last revision
}

TEST_CASE("pods that stay: a curve that readings have just contradicted takes its share of the trust, for a while") {
  Story fill;
  auto hours = [&, next = 0](int buckets) mutable {
    for (int bucket = 0; bucket < buckets; ++bucket) {
      fill.place("f" + std::to_string(next++), kLight, 0);
      fill.pass(300);
    }
  };
  for (int i = 0; i < 40; ++i) fill.view.nodes[0].curve.observe(0.1 * (i % 10), 100 + 10 * (i % 10));
  hours(40);
  const double before = fill.cluster_model.fleet(fill.view).trust;
  REQUIRE(before > 0.1);
  const auto shifts = fill.view.nodes[0].curve.shifts();
  for (int i = 0; i < 10 && fill.view.nodes[0].curve.shifts() == shifts; ++i)
    fill.view.nodes[0].curve.observe(0.5, 700);
  REQUIRE(fill.view.nodes[0].curve.shifts() == shifts + 1);
  fill.refresh();
  CHECK(fill.cluster_model.fleet(fill.view).trust == doctest::Approx(before / 2).epsilon(0.01));  // one of two nodes
  hours(24);
  CHECK(fill.cluster_model.fleet(fill.view).trust > 0.9 * before);
}

TEST_CASE("the revision rises when a curve moved, a node came or fell silent, and not for nothing") {
  Story story;
  const auto revision = [&] { return story.cluster_model.fleet(story.view).revision; };
  const auto first = revision();
  for (int i = 0; i < 20; ++i) story.pass(60);
  CHECK(revision() == first);
  for (int i = 0; i < 40; ++i) story.view.nodes[0].curve.observe(0.1 * (i % 10), 900);
  story.refresh();
  CHECK(revision() == first);  // not sooner than the period
  story.pass(300);
  CHECK(revision() == first + 1);
  story.view.nodes[1].telemetry_age = from_seconds(30);
  story.pass(6);
  CHECK(revision() == first + 2);
  CHECK_FALSE(fits(story.cluster_model.fleet(story.view).nodes[1], {{0.1, 0}, 0.1, 0}));
  story.view.nodes.push_back(healthy_node("c"));
  CHECK(story.cluster_model.fleet(story.view).nodes.size() == 3);
  CHECK(revision() == first + 3);
}

TEST_CASE("idle nodes count as sleeping from the first sleep on, until none may sleep") {
  Story story;
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

TEST_CASE("a saved knowledge is restored whole, and damage is refused") {
  Story before;
  before.teach(kHeavy, 0.9, 14);
  before.teach(kLight, 0.1, 14);
  for (int i = 0; i < 10; ++i) before.view.nodes[0].curve.observe(0.1 * i, 50 + 10 * i);
  before.refresh();
  const std::string bytes = before.cluster_model.save(before.view);

  Story after;
  REQUIRE(after.cluster_model.restore(bytes).has_value());
  for (const std::string_view app : {kHeavy, kLight}) {
    const DemandPrediction was = before.cluster_model.predict(pod_of("x", app));
    const DemandPrediction is = after.cluster_model.predict(pod_of("x", app));
    CHECK(is.cores == was.cores);
    CHECK(is.life_s == was.life_s);
    CHECK(is.sd_cores == was.sd_cores);
    CHECK(is.unsure_cores == was.unsure_cores);
  }
  CHECK(after.cluster_model.demand().expected_demand(50) == before.cluster_model.demand().expected_demand(50));
  CHECK(after.cluster_model.forecast().expected_cores(100) == before.cluster_model.forecast().expected_cores(100));
  REQUIRE(after.cluster_model.kept_curve("a") != nullptr);
  CHECK(after.cluster_model.kept_curve("a")->points() == before.view.nodes[0].curve.points());
  CHECK(after.cluster_model.kept_curve("a")->samples() == 10);
  CHECK(after.cluster_model.kept_curve("elsewhere") == nullptr);
  // What was restored goes on learning, and is saved in turn though its nodes are not back yet.
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

TEST_CASE("memory is bounded whatever names come") {
  ClusterModelOptions options;
  options.demand.max_apps = 10;
  options.max_pods = 5;
  Story story(options);
  for (int i = 0; i < 100; ++i) {
    const std::string uid = "p" + std::to_string(i);
    story.cluster_model.placed(pod_of(uid, "Deployment/d" + std::to_string(i) + " image"), "a", story.now());
    testing::use_pod(story.cluster_model, uid, 0.5, 3600);
    if (i >= 50) story.cluster_model.gone(uid, story.now());
  }
  CHECK(story.cluster_model.pods().size() == 5);
  CHECK(story.cluster_model.demand().apps() <= 10);
}

TEST_CASE("a view without knowledge makes a fleet that every policy can use") {
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
