// watched_rig: a decider with two nodes that follows an API server.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controller/kube/pod_reconciler.hpp"
#include "tests/unit/controller/decider_rig.hpp"

namespace wattle::controller::test {

using namespace std::chrono_literals;

// UIDs of the pods in the order of their events.
struct SeenPods final : PodSink {
  std::vector<std::string> bound, elsewhere, gone;
  void on_bound(const kube::Pod& pod) override { bound.push_back(pod.uid); }
  void on_elsewhere(const kube::Pod& pod) override { elsewhere.push_back(pod.uid); }
  void on_gone(const std::string& uid) override { gone.push_back(uid); }
};

struct WatchedRig : DeciderRig {
  SeenPods seen;
  Shims shims{std::vector<std::string>{"wattle"}};
  std::optional<PodReconciler> join;

  explicit WatchedRig(ModeSetting mode = Mode::shadow) : DeciderRig(mode) {
    join.emplace(state, *decider, shims, seen, clock);
    greet("n1");
    greet("n2");
    tick({});
  }
  void greet(const std::string& node) {
    state.greet(hello_of(node));
    join->greeted(node);
  }
  // One second passes; n1 runs these pods.
  void tick(const std::vector<std::string>& pods) {
    clock.advance(1s);
    Record record = record_at(++seq);
    for (const std::string& uid : pods) record.workloads.push_back(pod_values(uid, 800'000));
    const RecordNews reported = state.apply("n1", record, clock.mono());
    for (const std::string& uid : reported.appeared) decider->placements().placed(uid, "n1", false);
    decider->outcomes().record("n1", record, reported);
    for (const std::string& uid : reported.gone) decider->placements().gone(uid, "n1");
    state.apply("n2", record_at(seq), clock.mono());
    decider->expire();
  }
  static kube::Pod pod(const std::string& uid, const std::string& node) {
    kube::Pod made;
    made.uid = uid;
    made.name = uid + "-name";
    made.pod_namespace = "shop";
    made.app = "ReplicaSet/web nginx";
    made.cpu_request_cores = 1;
    made.node_name = node;
    return made;
  }
  void report(const kube::Pod& pod, bool followed = true) {
    join->take({}, {{pod.uid, std::make_shared<const kube::Pod>(pod), followed}});
  }
  void report_gone(const std::string& uid) { join->take({}, {{uid, nullptr, true}}); }
  void report(const kube::Node& node) { join->take({{node.name, std::make_shared<const kube::Node>(node), true}}, {}); }
  void report_deleted(const std::string& node) { join->take({{node, nullptr, true}}, {}); }
  double requested(const std::string& node) const { return state.node_view(node)->requested.cpu_cores; }
};

}  // namespace wattle::controller::test
