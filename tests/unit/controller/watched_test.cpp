// watched: API server events join asks, telemetry and placements by UID, in any order.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <memory>
#include <set>

#include "tests/unit/controller/watched_rig.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using namespace std::chrono_literals;

namespace {

kube::Node facts(const std::string& name) {
  kube::Node node;
  node.name = name;
  node.cpu_cores = 3.5;
  node.memory_bytes = 1e9;
  node.pod_capacity = 20;
  node.ready = true;
  return node;
}

struct NeutralNetwork final : models::QNetwork {
  void residual(const models::Observation&, std::span<float> out) const override {
    std::fill(out.begin(), out.end(), 0.0F);
  }
  std::uint64_t step() const override { return 5; }
};

}  // namespace

TEST_CASE("a binding joins the decision of its UID before any cgroup appears, and the cgroup changes nothing") {
  WatchedRig rig(Mode::live);
  const auto answer = rig.decider->asks().ask(ask_for("p1", {"n1", "n2"}));
  rig.report(WatchedRig::pod("p1", ""));
  rig.report(WatchedRig::pod("p1", "n1"));
  CHECK(rig.decider->log().newest("p1")->decision.placed_on == "n1");
  CHECK(rig.state.node_view("n1")->in_flight + rig.state.node_view("n2")->in_flight == 0);
  CHECK(rig.requested("n1") == 1);
  REQUIRE(rig.news.size() == 1);
  CHECK(std::get<PlacedNews>(rig.news[0]).decision_id == answer.decision_id);
  for (int i = 0; i < 5; ++i) rig.tick({"p1"});
  CHECK(rig.decider->figures().placements == 1);
  CHECK(rig.decider->figures().placements_unasked == 0);
  REQUIRE(rig.news.size() == 2);
  CHECK(std::holds_alternative<SettledNews>(rig.news[1]));
}

TEST_CASE(
    "a pod bound without an ask becomes an observed decision with the features of that moment, and is learned from") {
  for (const bool agent_first : {false, true}) {
    CAPTURE(agent_first);
    WatchedRig rig;
    rig.report(WatchedRig::pod("p1", ""));
    CHECK(rig.decider->log().entries().empty());
    if (agent_first) rig.tick({"p1"});
    rig.report(WatchedRig::pod("p1", "n1"));
    const LoggedDecision* entry = rig.decider->log().newest("shop/p1-name");
    REQUIRE(entry != nullptr);
    CHECK(entry->decision.mode == "observed");
    CHECK(entry->decision.decided_by == "scheduler");  // no shim asked, so Wattle's advice decided nothing
    CHECK(entry->decision.placed_on == "n1");
    CHECK(entry->decision.propensity == 0);
    CHECK(entry->decision.candidates.size() == 2);
    CHECK(rig.state.pod("p1")->decision_id == entry->decision.id);
    REQUIRE(rig.news.size() == 1);
    const auto& placed = std::get<PlacedNews>(rig.news[0]);
    CHECK(placed.action == 0);
    CHECK(placed.observation.nodes == 2);
    CHECK(rig.decider->figures().placements_unasked == 1);
    for (int i = 0; i < 5; ++i) rig.tick({"p1"});
    REQUIRE(rig.news.size() == 2);
    CHECK(std::holds_alternative<SettledNews>(rig.news[1]));
    CHECK(rig.decider->log().newest("p1")->decision.outcome);
  }
}

TEST_CASE("the outcome has the API server's reason for a failure, whichever source first reports the pod's end") {
  for (const bool agent_first : {false, true}) {
    CAPTURE(agent_first);
    WatchedRig rig;
    rig.report(WatchedRig::pod("p1", ""));
    rig.report(WatchedRig::pod("p1", "n1"));
    rig.tick({"p1"});
    if (agent_first) {
      rig.decider->placements().gone("p1", "n1");
      rig.decider->expire();
      CHECK(rig.decider->figures().outcomes == 0);
    }
    kube::Pod failed = WatchedRig::pod("p1", "n1");
    failed.ended = true;
    failed.failure = kube::PodFailure::evicted;
    rig.report(failed);
    rig.decider->expire();
    REQUIRE(rig.news.size() == 2);
    CHECK(std::get<SettledNews>(rig.news[1]).outcome.failed);
    CHECK(rig.decider->log().newest("p1")->decision.outcome->failure == "evicted");
    CHECK(rig.decider->figures().outcomes == 1);
    CHECK(rig.requested("n1") == 0);
  }
}

TEST_CASE(
    "a pod that its node refused early fails its advised placement; earlier failures of other pods do not count") {
  WatchedRig rig(Mode::live);
  rig.decider->asks().ask(ask_for("p1", {"n1", "n2"}));
  kube::Pod refused = WatchedRig::pod("p1", "n2");
  refused.ended = true;
  refused.failure = kube::PodFailure::failed_start;
  rig.report(refused);
  kube::Pod old = WatchedRig::pod("p0", "n1");
  old.ended = true;
  old.failure = kube::PodFailure::crash;
  rig.report(old, false);
  rig.decider->expire();
  REQUIRE(rig.news.size() == 2);
  CHECK(std::get<SettledNews>(rig.news[1]).outcome.failed);
  CHECK(rig.decider->figures().placements == 1);
}

TEST_CASE("a pod that restarts within the window has crashed; one that is deleted has not failed") {
  WatchedRig rig;
  for (const char* uid : {"p1", "p2"}) {
    rig.report(WatchedRig::pod(uid, ""));
    rig.report(WatchedRig::pod(uid, "n1"));
  }
  kube::Pod crashed = WatchedRig::pod("p1", "n1");
  crashed.failure = kube::PodFailure::crash;
  rig.tick({"p1", "p2"});
  rig.report(crashed);
  rig.tick({"p1", "p2"});
  rig.report_gone("p2");
  for (int i = 0; i < 3; ++i) rig.tick({"p1"});
  CHECK(rig.decider->log().newest("p1")->decision.outcome->failure == "crash");
  CHECK(rig.decider->log().newest("p1")->decision.outcome->end_of_episode);
  CHECK(rig.decider->log().newest("p2")->decision.outcome->failure.empty());
  CHECK(rig.requested("n1") == 1);  // it is still there
}

TEST_CASE("pods that kube-scheduler could not place are pending for as long as it says so, with or without an ask") {
  WatchedRig rig;
  const auto pending = [&](const std::string& uid) {
    placement::PodSpec pod;
    pod.uid = uid;
    return rig.state.view(pod, rig.clock.mono()).pending_pods;
  };
  kube::Pod waits = WatchedRig::pod("p1", "");
  waits.unschedulable = true;
  rig.report(waits);
  kube::Pod daemon = waits;
  daemon.uid = "p2";
  daemon.daemonset = true;
  rig.report(daemon);
  rig.report(WatchedRig::pod("p3", ""));  // no scheduler has tried it yet
  CHECK(pending("") == 1);
  CHECK(pending("p1") == 0);  // itself not included
  rig.clock.advance(10min);
  rig.tick({});
  CHECK(pending("") == 1);
  rig.decider->asks().ask(ask_for("p1", {}));
  CHECK(pending("") == 1);  // counts once, despite its ask
  waits.node_name = "n1";
  waits.unschedulable = false;
  rig.report(waits);
  CHECK(pending("") == 0);
  kube::Pod other = WatchedRig::pod("p4", "");
  other.unschedulable = true;
  rig.report(other);
  CHECK(pending("") == 1);
  rig.report_gone("p4");
  CHECK(pending("") == 0);
  CHECK(rig.state.pods().pending() == 0);
}

TEST_CASE("pods that a list shows as bound are requested again after a restart, and are not decisions") {
  WatchedRig rig;
  rig.report(WatchedRig::pod("p1", "n1"), false);
  CHECK(rig.requested("n1") == 1);
  CHECK(rig.state.pod("p1")->spec.name == "p1-name");
  CHECK(rig.news.empty());
  CHECK(rig.decider->log().entries().empty());
  // A DaemonSet's pod is not a decision either, because its node is not a choice; nor is any pod in mode off.
  kube::Pod daemon = WatchedRig::pod("p2", "n1");
  daemon.daemonset = true;
  rig.report(daemon);
  WatchedRig off(Mode::off);
  off.report(WatchedRig::pod("p1", ""));
  off.report(WatchedRig::pod("p1", "n1"));
  CHECK(off.requested("n1") == 1);
  CHECK(rig.decider->log().entries().empty());
  CHECK(off.decider->log().entries().empty());
}

TEST_CASE("a pod gets its name and request although its agent reported it before the API server did") {
  WatchedRig rig;
  rig.tick({"p1"});
  CHECK(rig.requested("n1") == 0);
  CHECK(rig.decider->engine().cluster_model().pods().size() == 0);
  rig.report(WatchedRig::pod("p1", "n1"), false);
  CHECK(rig.requested("n1") == 1);
  CHECK(rig.decider->engine().cluster_model().pods().size() == 1);
}

TEST_CASE("a deletion frees the node and the in-flight room, and a lingering cgroup is not a placement") {
  WatchedRig rig(Mode::live);
  rig.report(WatchedRig::pod("p1", "n1"));
  rig.tick({"p1"});
  rig.report_gone("p1");
  CHECK(rig.requested("n1") == 0);
  rig.tick({"p1"});
  rig.decider->placements().placed("p1", "n1", false);
  CHECK(rig.state.pod("p1") == nullptr);
  CHECK(rig.requested("n1") == 0);
  rig.decider->asks().ask(ask_for("p2", {"n1", "n2"}));
  rig.report(WatchedRig::pod("p2", ""));
  CHECK(rig.state.node_view("n1")->in_flight + rig.state.node_view("n2")->in_flight == 1);
  rig.report_gone("p2");
  CHECK(rig.state.node_view("n1")->in_flight + rig.state.node_view("n2")->in_flight == 0);
  CHECK(rig.state.pod("p2") == nullptr);
}

TEST_CASE("a pod that ended holds no request, although its object remains") {
  WatchedRig rig;
  kube::Pod pod = WatchedRig::pod("p1", "n1");
  rig.report(pod);
  CHECK(rig.requested("n1") == 1);
  pod.ended = true;
  rig.report(pod);
  CHECK(rig.requested("n1") == 0);
}

TEST_CASE("a bound pod keeps its room while its image is pulled and while its containers restart") {
  WatchedRig rig;
  rig.report(WatchedRig::pod("p1", "n1"));
  for (int i = 0; i < 30; ++i) rig.tick({});
  CHECK(rig.requested("n1") == 1);
  rig.tick({"p1"});
  rig.decider->placements().gone("p1", "n1");
  CHECK(rig.requested("n1") == 1);
}

TEST_CASE("an agent's report does not move a pod that the API server bound to another node") {
  WatchedRig rig;
  rig.report(WatchedRig::pod("p1", "n2"));
  rig.tick({"p1"});
  CHECK(rig.state.pod("p1")->node == "n2");
  CHECK_FALSE(rig.decider->placements().placed("p1", "n1", true));
  CHECK(rig.requested("n1") == 0);
  // A node that had the pod before the binding was known loses it.
  rig.report(WatchedRig::pod("p3", ""));
  CHECK(rig.decider->placements().placed("p3", "n1", false));
  rig.report(WatchedRig::pod("p3", "n2"));
  CHECK(rig.state.pod("p3")->node == "n2");
  CHECK(rig.requested("n1") == 0);
}

TEST_CASE("a node has the API server's description, now and after its agent's next Hello") {
  WatchedRig rig;
  CHECK(rig.state.node_view("n1")->allocatable.cpu_cores == 8);
  rig.report(facts("n1"));
  rig.greet("n1");
  const placement::NodeView* view = rig.state.node_view("n1");
  CHECK(view->allocatable.cpu_cores == 3.5);
  CHECK(view->pod_capacity == 20);
  CHECK(view->ready);
  kube::Node drained = facts("n1");
  drained.cordoned = true;
  rig.report(drained);
  CHECK_FALSE(rig.state.node_view("n1")->ready);
  kube::Node lost = facts("n1");
  lost.ready = false;
  rig.report(lost);
  CHECK_FALSE(rig.state.node_view("n1")->ready);
  rig.report(facts("n1"));
  CHECK(rig.state.node_view("n1")->ready);
}

TEST_CASE("pods on a node without an agent wait until it has one") {
  WatchedRig rig;
  rig.report(WatchedRig::pod("p1", ""));
  rig.report(WatchedRig::pod("p1", "n3"));
  CHECK(rig.state.pod("p1") == nullptr);
  rig.report(facts("n3"));
  rig.greet("n3");
  CHECK(rig.requested("n3") == 1);
  CHECK(rig.state.node_view("n3")->allocatable.cpu_cores == 3.5);
  CHECK(rig.decider->log().entries().empty());
  rig.report(WatchedRig::pod("p2", "n4"));
  rig.report_gone("p2");
  rig.greet("n4");
  CHECK(rig.requested("n4") == 0);
}

TEST_CASE("a deleted node takes no pods at once, is forgotten when it is silent, and may return") {
  WatchedRig rig;
  rig.report(facts("n2"));
  rig.report(WatchedRig::pod("p1", "n2"));
  rig.report_deleted("n2");
  CHECK_FALSE(rig.state.node_view("n2")->ready);
  rig.state.disconnect("n2");
  rig.decider->expire();
  CHECK(rig.state.node("n2") != nullptr);  // it still has a pod
  rig.report_gone("p1");
  rig.clock.advance(500ms);
  rig.decider->expire();
  CHECK(rig.state.node("n2") == nullptr);
  CHECK(rig.decider->asks().ask(ask_for("p2", {"n1", "n2"})).decision_id != 0);
  rig.greet("n2");
  CHECK(rig.state.node_view("n2")->ready);
  // Much later, another node takes the free row.
  const std::size_t rows = rig.state.view({}, rig.clock.mono()).nodes.size();
  rig.clock.advance(31min);
  rig.decider->expire();
  rig.greet("n5");
  CHECK(rig.state.view({}, rig.clock.mono()).nodes.size() == rows);
  CHECK(rig.state.node_view("n5")->name == "n5");
}

TEST_CASE("requests equal the API server's bindings after any sequence of events") {
  CHECK(rc::check([] {
    WatchedRig rig(Mode::live);
    std::map<std::string, kube::Pod> server;
    std::set<std::string> dead;
    const auto steps = *rc::gen::container<std::vector<std::tuple<int, int, int>>>(
        rc::gen::tuple(rc::gen::inRange(0, 6), rc::gen::inRange(0, 4), rc::gen::inRange(1, 4)));
    for (const auto& [step, number, node] : steps) {
      const std::string uid = "p" + std::to_string(number), where = "n" + std::to_string(node);
      if (step == 0 && !dead.contains(uid)) {
        server.try_emplace(uid, WatchedRig::pod(uid, ""));
        rig.report(server.at(uid));
      } else if (step == 1 && server.contains(uid)) {
        if (server.at(uid).node_name.empty()) server.at(uid).node_name = where;
        rig.report(server.at(uid), number % 2 == 0);
      } else if (step == 2 && server.erase(uid) > 0) {
        dead.insert(uid);
        rig.report_gone(uid);
      } else if (step == 3 && !dead.contains(uid)) {
        rig.decider->asks().ask(ask_for(uid, {"n1", "n2"}));
      } else if (step == 4 && server.contains(uid) && server.at(uid).node_name == "n1") {
        rig.tick({uid});
      } else if (step == 5) {
        rig.greet(where);
      }
    }
    std::map<std::string, double> expected;
    for (const auto& [uid, pod] : server)
      if (!pod.node_name.empty()) expected[pod.node_name] += 1;
    for (const auto& [name, ignored] : rig.state.nodes()) RC_ASSERT(rig.requested(name) == expected[name]);
  }));
}

namespace {

// A pod that a tenant forged to look like a kubelet's mirror of another pod.
kube::Pod forged_of(const std::string& victim, const std::string& node) {
  kube::Pod pod = WatchedRig::pod("forged", node);
  pod.pod_namespace = "tenant";
  pod.cpu_request_cores = 0.25;
  pod.mirror = {victim, node + "-uid", "2026-01-01T00:00:00Z"};
  return pod;
}

kube::Node with_uid(const std::string& name) {
  kube::Node node = facts(name);
  node.uid = name + "-uid";
  return node;
}

}  // namespace

TEST_CASE("a pod that claims another pod's UID gets none of its requests, place or name, in either order") {
  for (const bool forged_first : {false, true})
    for (const bool victim_runs : {false, true}) {
      CAPTURE(forged_first);
      CAPTURE(victim_runs);
      WatchedRig rig;
      rig.report(with_uid("n1"));
      rig.report(with_uid("n2"));
      if (!forged_first) rig.report(WatchedRig::pod("victim", victim_runs ? "n1" : ""));
      rig.report(forged_of("victim", "n2"));
      if (forged_first) rig.report(WatchedRig::pod("victim", victim_runs ? "n1" : ""));
      CHECK(rig.requested("n1") == (victim_runs ? 1 : 0));
      CHECK(rig.requested("n2") == 0.25);
      REQUIRE(rig.state.pod("victim") != nullptr);
      CHECK(rig.state.pod("victim")->spec.name == "victim-name");
      CHECK(rig.state.pod("victim")->node == (victim_runs ? "n1" : ""));
      REQUIRE(rig.state.pod("forged") != nullptr);
      CHECK(rig.state.pod("forged")->spec.pod_namespace == "tenant");
      CHECK(rig.seen.gone == (forged_first ? std::vector<std::string>{"victim"} : std::vector<std::string>{}));
      // If the victim starts later it is counted at once.
      rig.report(WatchedRig::pod("victim", "n1"));
      CHECK(rig.requested("n1") == 1);
      rig.report_gone("forged");
      CHECK(rig.requested("n2") == 0);
      CHECK(rig.requested("n1") == 1);
    }
}

TEST_CASE("a static pod has the UID of its cgroup, also after its mirror pod is recreated") {
  WatchedRig rig;
  rig.report(with_uid("n1"));
  rig.tick({"hash"});
  rig.tick({"hash"});
  for (const char* mirror : {"m1", "m2"}) {
    kube::Pod pod = WatchedRig::pod(mirror, "n1");
    pod.mirror = {"hash", "n1-uid", ""};
    pod.daemonset = true;
    rig.report(pod);
    CHECK(rig.requested("n1") == 1);
    REQUIRE(rig.state.pod("hash") != nullptr);
    CHECK(rig.state.pod("hash")->spec.name == std::string(mirror) + "-name");
    CHECK(rig.state.pod(mirror) == nullptr);
    rig.report_gone(mirror);
    CHECK(rig.requested("n1") == 0);
    rig.tick({"hash"});
  }
}

TEST_CASE("an ask that names a pod of the API server does not change the API server's facts") {
  WatchedRig rig(Mode::live);
  rig.report(WatchedRig::pod("victim", "n1"));
  wire::Ask ask = ask_for("victim", {"n1", "n2"});
  ask.pod_namespace = "tenant";
  ask.cpu_request_cores = 0;
  rig.decider->asks().ask(std::move(ask));
  CHECK(rig.requested("n1") == 1);
  CHECK(rig.state.pod("victim")->spec.pod_namespace == "shop");
  CHECK(rig.state.node_view("n1")->in_flight + rig.state.node_view("n2")->in_flight == 0);
}
