// expected: how long an advised pod reserves its room on the node, with and without an API server.
#include <doctest/doctest.h>

#include "tests/unit/controller/watched_rig.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using namespace std::chrono_literals;

namespace {

struct ExpectedRig : WatchedRig {
  ExpectedRig() : WatchedRig(Mode::live) {}
  // The advised node.
  std::string ask(const std::string& uid, double hold_ms = 0) {
    wire::Ask question = ask_for(uid, {"n1", "n2"});
    question.hold_ms = hold_ms;
    CHECK_FALSE(decider->asks().ask(std::move(question)).neutral);
    return state.pod(uid)->in_flight_to;
  }
  std::uint64_t expected() const { return state.node_view("n1")->in_flight + state.node_view("n2")->in_flight; }
  double expected_cores() const {
    return state.node_view("n1")->in_flight_request.cpu_cores + state.node_view("n2")->in_flight_request.cpu_cores;
  }
  // At least a second; long-silent nodes take no pods.
  void pass(Duration time) {
    clock.advance(time - 1s);
    tick({});
  }
  static kube::Pod nominated(const std::string& uid, const std::string& node) {
    kube::Pod made = pod(uid, "");
    made.nominated_node = node;
    return made;
  }
};

}  // namespace

TEST_CASE(
    "a pod that the API server shows unbound keeps its reservation until it is bound, deleted or asked for again") {
  for (const bool shown_first : {true, false}) {
    CAPTURE(shown_first);
    ExpectedRig rig;
    std::vector<std::string> to;
    for (const std::string uid : {"a", "b", "c", "d", "e", "f"}) {
      if (shown_first) rig.report(WatchedRig::pod(uid, ""));
      to.push_back(rig.ask(uid));
      if (!shown_first) rig.report(WatchedRig::pod(uid, ""));
    }
    CHECK(rig.expected() == 6);
    rig.pass(3s);  // a repeated ask within two seconds gets the same answer
    to[2] = rig.ask("c");
    CHECK(rig.expected() == 6);  // counts once
    rig.pass(36s);
    CHECK(rig.expected() == 6);
    rig.pass(30min);
    CHECK(rig.expected() == 6);
    CHECK(rig.expected_cores() == 6);
    rig.report(WatchedRig::pod("a", to[0]));
    CHECK(rig.expected() == 5);
    CHECK(rig.requested(to[0]) == 1);
    rig.report_gone("b");
    CHECK(rig.expected() == 4);
    rig.report(WatchedRig::pod("d", "a-node-without-an-agent"));
    CHECK(rig.expected() == 3);
    rig.report_gone("c");
    rig.report_gone("e");
    rig.report_gone("f");
    CHECK(rig.expected() == 0);
    CHECK(rig.expected_cores() == 0);
  }
}

TEST_CASE("without an API server a reservation lasts half a minute, or as long as the scheduler may hold the pod") {
  ExpectedRig rig;
  rig.ask("plain");
  rig.ask("gang", 300'000);
  rig.ask("volume", 600'000);
  rig.ask("forever", 1e12);
  rig.pass(29s);
  CHECK(rig.expected() == 4);
  rig.pass(1s);
  CHECK(rig.expected() == 3);
  rig.pass(269s);
  CHECK(rig.expected() == 3);
  rig.pass(1s);
  CHECK(rig.expected() == 2);
  rig.pass(300s);
  CHECK(rig.expected() == 1);
  rig.pass(50min);
  CHECK(rig.expected() == 0);
}

TEST_CASE("if the API server nominates a node for an expected pod, the pod counts there") {
  ExpectedRig rig;
  rig.report(WatchedRig::pod("a", ""));
  const std::string advised = rig.ask("a"), other = advised == "n1" ? "n2" : "n1";
  rig.report(ExpectedRig::nominated("a", other));
  CHECK(rig.state.pod("a")->in_flight_to == other);
  CHECK(rig.expected() == 1);
  rig.report(ExpectedRig::nominated("a", "a-node-without-an-agent"));
  CHECK(rig.state.pod("a")->in_flight_to == other);
  // The scheduler withdraws its nomination.
  rig.report(WatchedRig::pod("a", ""));
  CHECK(rig.expected() == 0);
  rig.pass(3s);
  // A pod that was advised a node stays expected, nominated or not.
  const std::string again = rig.ask("a");
  rig.report(ExpectedRig::nominated("a", again));
  rig.report(WatchedRig::pod("a", ""));
  CHECK(rig.state.pod("a")->in_flight_to == again);
  // A nominated pod without an ask, as after a preemption.
  rig.report(ExpectedRig::nominated("b", "n1"));
  CHECK(rig.state.pod("b")->in_flight_to == "n1");
  rig.report(WatchedRig::pod("b", "n2"));
  CHECK(rig.state.pod("b")->node == "n2");
  CHECK(rig.expected() == 1);
}

TEST_CASE("a pod that becomes unschedulable frees its reservation; a condition from before the ask does not count") {
  ExpectedRig rig;
  kube::Pod failed = WatchedRig::pod("a", "");
  failed.unschedulable = true;
  rig.report(WatchedRig::pod("a", ""));
  rig.ask("a");
  rig.report(failed);
  CHECK(rig.expected() == 0);
  CHECK(rig.state.pods().pending() == 1);
  rig.pass(3s);
  // The scheduler tries again: the old condition is still there, and does not count for this attempt.
  rig.ask("a");
  failed.labels = "changed=yes";
  rig.report(failed);
  rig.pass(5min);
  CHECK(rig.expected() == 1);
}

TEST_CASE("reservations of pods unknown to the API server are bounded, and the first to expire are dropped first") {
  ClusterState state(30s);
  ManualClock clock(mono_from_ns(100 * kSecondNs));
  state.greet(hello_of("n1"));
  placement::PodSpec pod;
  pod.request = {0.001, 1};
  for (std::size_t i = 0; i <= kMaxAsked; ++i) {
    pod.uid = "p" + std::to_string(i);
    state.pods().ask(pod, i + 1, true, clock.mono());
    state.pods().expect_on(pod.uid, "n1", clock.mono(), i == 7 ? 5min : 10min);
  }
  CHECK(state.node_view("n1")->in_flight == kMaxAsked);
  CHECK(state.pod("p7")->in_flight_to.empty());
}
