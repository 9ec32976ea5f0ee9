// owner_share: replicas of one owner count where they are bound or in flight, and are spread.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include "controller/kube/pod_reconciler.hpp"
#include "tests/unit/controller/decider_rig.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;

namespace {

constexpr const char* kOwner = "default/ReplicaSet/web-5d9";

struct OwnerRig : DeciderRig {
  std::vector<std::string> names{"n1", "n2", "n3", "n4"};
  Shims shims{std::vector<std::string>{"wattle"}};
  PodSink pods;
  std::optional<PodReconciler> join;

  OwnerRig() : DeciderRig(Mode::live) {
    join.emplace(state, *decider, shims, pods, clock);
    for (const std::string& name : names) {
      state.greet(hello_of(name));
      auto node = std::make_shared<kube::Node>();
      node->name = name;
      node->ready = true;
      node->cpu_cores = 8;
      node->memory_bytes = 8e9;
      // Two zones: n1 and n2, n3 and n4.
      node->labels = {{"topology.kubernetes.io/zone", name < "n3" ? "a" : "b"}};
      join->take({{name, node, true}}, {});
      join->greeted(name);
    }
    ++seq;
    for (const std::string& name : names)
      decider->outcomes().record(name, record_of(name, seq), state.apply(name, record_of(name, seq), clock.mono()));
  }
  std::string ask(const std::string& uid, const std::string& owner = kOwner) {
    wire::Ask pod = ask_for(uid, names);
    pod.cpu_request_cores = 0.01;
    pod.memory_request_bytes = 1 << 20;
    pod.owner = owner;
    const wire::Suggestion answer = decider->asks().ask(pod);
    if (answer.neutral) return {};
    return names[static_cast<std::size_t>(std::max_element(answer.scores.begin(), answer.scores.end()) -
                                          answer.scores.begin())];
  }
  void bind(const std::string& uid, const std::string& node, bool leaving = false) {
    kube::Pod pod;
    pod.uid = pod.name = uid;
    pod.pod_namespace = "default";
    pod.app = "ReplicaSet/web nginx";
    pod.replica_of = kOwner;
    pod.cpu_request_cores = 0.01;
    pod.node_name = node;
    pod.leaving = leaving;
    join->take({}, {{uid, std::make_shared<const kube::Pod>(pod), true}});
  }
  std::uint64_t replicas(const std::string& node, const std::string& uid = "asking") {
    placement::PodSpec pod;
    pod.uid = uid;
    pod.owner = kOwner;
    state.view(pod, clock.mono());
    return state.node_view(node)->owner_pods;
  }
};

}  // namespace

TEST_CASE("no node and no zone gets more than half of a burst of one owner's replicas") {
  OwnerRig rig;
  std::map<std::string, int> by_node, by_zone;
  for (int i = 0; i < 12; ++i) {
    const std::string node = rig.ask("p" + std::to_string(i));
    REQUIRE_FALSE(node.empty());
    ++by_node[node];
    ++by_zone[node < "n3" ? "a" : "b"];
    if (i % 2 == 0) rig.bind("p" + std::to_string(i), node);  // the others stay in flight
  }
  for (const auto& [node, pods] : by_node) CHECK(pods <= 6);
  CHECK(by_zone["a"] == 6);
  CHECK(by_zone["b"] == 6);
}

TEST_CASE("a replica counts once, in flight or bound, until it is deleted; other owners' replicas do not count") {
  OwnerRig rig;
  const std::string first = rig.ask("p1");
  CHECK(rig.replicas(first) == 1);
  CHECK(rig.replicas(first, "p1") == 0);  // not the pod that is asking
  rig.bind("p1", first);
  CHECK(rig.replicas(first) == 1);
  CHECK(rig.replicas(first, "p1") == 0);
  CHECK(rig.ask("p2", "default/ReplicaSet/other") == first);
  CHECK(rig.replicas(first) == 1);
  const std::string second = rig.ask("p3");
  CHECK(second != first);
  rig.bind("p3", first);  // the scheduler chose another node
  CHECK(rig.replicas(first) == 2);
  CHECK(rig.replicas(second) == 0);
  rig.decider->placements().deleted("p1");
  rig.decider->placements().deleted("p3");
  CHECK(rig.replicas(first) == 0);
}

TEST_CASE("a replica that is being deleted does not count, and its successor may use its node") {
  OwnerRig rig;
  const std::string first = rig.ask("p1");
  rig.bind("p1", first);
  CHECK(rig.ask("p2") != first);
  rig.decider->placements().deleted("p2");
  rig.bind("p1", first, true);
  CHECK(rig.replicas(first) == 0);
  CHECK(rig.state.node_view(first)->pods == 1);  // it still occupies its slot
  CHECK(rig.ask("p3") == first);
  CHECK(rig.replicas(first) == 1);
  CHECK(rig.replicas(first, "p1") == 1);
  rig.decider->placements().deleted("p1");
  CHECK(rig.replicas(first) == 1);
}

TEST_CASE("the use of a pod that is being deleted does not count against its node") {
  OwnerRig rig;
  rig.bind("p1", "n1");
  const auto seen = [&]() -> const placement::NodeView& { return *rig.state.node_view("n1"); };
  const auto second = [&] {
    rig.clock.advance(std::chrono::seconds(1));
    Record record = record_of("n1", ++rig.seq);
    record.workloads.push_back(pod_values("p1", 800'000));
    rig.decider->outcomes().record("n1", record, rig.state.apply("n1", record, rig.clock.mono()));
  };
  second();
  second();
  const double demand_cores = placement::demand_cores(rig.state.pod("p1")->spec);
  const double expected_cores = placement::expected_cpu_cores(seen());
  CHECK(seen().leaving_cpu_cores == 0);

  rig.bind("p1", "n1", true);
  rig.bind("p1", "n1", true);
  CHECK(seen().leaving_cpu_cores == doctest::Approx(demand_cores));
  CHECK(placement::expected_cpu_cores(seen()) == doctest::Approx(expected_cores - demand_cores));
  const placement::ClusterModel& model = rig.decider->engine().cluster_model();
  CHECK(model.running(model.pods().find("p1"))->demand_cores == 0);

  rig.decider->placements().deleted("p1");
  CHECK(seen().leaving_cpu_cores == 0);
  CHECK(model.pods().size() == 0);
}

TEST_CASE("a replica that moved, or was already being deleted when first seen, does not count") {
  OwnerRig rig;
  rig.bind("p1", "n1", true);
  CHECK(rig.replicas("n1") == 0);
  rig.bind("p1", "n2", true);  // after a new list from the API server
  CHECK(rig.replicas("n1") == 0);
  CHECK(rig.replicas("n2") == 0);
  rig.decider->placements().deleted("p1");
  CHECK(rig.replicas("n2") == 0);
}

TEST_CASE("explain shows that a node has reached its owner share") {
  OwnerRig rig;
  const std::string first = rig.ask("p1");
  rig.ask("p2");
  const auto& candidates = rig.decider->log().newest("p2")->decision.candidates;
  const auto entry = std::find_if(candidates.begin(), candidates.end(), [&](const auto& c) { return c.node == first; });
  REQUIRE(entry != candidates.end());
  CHECK(entry->masked == "the zone already has its share of the owner's replicas");
}
