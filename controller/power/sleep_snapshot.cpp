#include "controller/power/sleep_snapshot.hpp"

#include <algorithm>
#include <utility>

#include "common/kube/node_terms.hpp"
#include "controller/power/sleep_facts.hpp"
#include "controller/state/cluster_state.hpp"
#include "controller/state/node_labels.hpp"
#include "placement/cluster/view_fleet.hpp"

namespace wattle::controller::power {

namespace core = placement::sleep;

namespace {

constexpr std::size_t kMostPending = 1000;

}  // namespace

void add_node(SleepSnapshot& snapshot, const ClusterState& state, const controller::Node& node, core::SleepFacts facts,
              core::NodePowerRecord record, bool ready) {
  const placement::NodeView& seen = state.view_of(node);
  core::SleepNode out{seen.name, std::move(facts), std::move(record), ready, {}, 0};
  out.facts.zone = seen.zone;
  for (const auto* uids : {&node.pods, &node.in_flight})
    for (const std::string& uid : *uids) {
      const Pod* pod = state.pod(uid);
      if (pod == nullptr || pod->spec.daemonset) continue;
      out.pods.push_back({uid, name_of(uid, pod->spec), pod->spec.owner, placement::ask_of(pod->spec)});
    }
  snapshot.view.nodes.push_back(seen);
  if (!snapshot.terms.empty()) {
    snapshot.labels.push_back(labels_of(node));
    snapshot.labels.back().insert_or_assign(kube::kNodeName, seen.name);
  }
  snapshot.nodes.push_back(std::move(out));
}

void add_pending(SleepSnapshot& snapshot, const ClusterState& state, bool watched, RefusedPods& refusals) {
  WallTime changed_at{};
  for (const core::SleepNode& node : snapshot.nodes)
    if (takes_pods(node.record) && node.record.operation != 0) changed_at = std::max(changed_at, node.record.since);
  refusals.begin(snapshot.now, changed_at);
  const auto add = [&](const placement::PodSpec& pod) {
    snapshot.pending.push_back({pod.uid, pod.pod_namespace + "/" + pod.name, placement::ask_of(pod)});
  };
  for (const placement::PodSpec& pod : state.pods().queue(kMostPending, ""))
    if (!pod.daemonset) add(pod);
  // Pods that found no node are not in the queue, but need a sleeping node most.
  for (const auto& [uid, pod] : state.pods().all()) {
    const bool refused = watched ? pod.unschedulable : pod.asked && !pod.advised;
    if (refused && pod.node.empty() && pod.in_flight_to.empty() && !pod.spec.daemonset &&
        snapshot.pending.size() < kMostPending) {
      add(pod.spec);
      snapshot.pending.back().refused = watched && refusals.refused(uid, pod.spec.owner);
    }
  }
}

void reserve(SleepSnapshot& snapshot, const std::vector<core::Move>& moves) {
  for (const core::Move& move : moves)
    for (placement::NodeView& node : snapshot.view.nodes) {
      if (node.name != move.target) continue;
      ++node.in_flight;
      node.in_flight_request.cpu_cores += move.request.cpu_cores;
      node.in_flight_request.memory_bytes += move.request.memory_bytes;
    }
}

double requested_cores(const SleepSnapshot& snapshot) {
  double cores = 0;
  for (const placement::NodeView& node : snapshot.view.nodes)
    cores += node.requested.cpu_cores + node.in_flight_request.cpu_cores;
  for (const core::PendingPod& pod : snapshot.pending) cores += pod.estimate.request.cpu_cores;
  return cores;
}

void add_probes(SleepSnapshot& snapshot, const std::map<std::string, ProbedNode>& probed) {
  for (core::SleepNode& node : snapshot.nodes) {
    const auto found = probed.find(node.name);
    if (found == probed.end()) continue;
    const bool refused = !node.facts.driver_problem.empty();
    if (!refused) node.facts.driver_problem = found->second.problem;
    if (!found->second.able) continue;
    const Capabilities& able = *found->second.able;
    node.facts.can_sleep = !able.depths.empty() && !refused;
    node.facts.can_wake = node.facts.can_wake || able.can_wake;
    if (!able.depths.empty()) node.facts.depth = able.depths.front();
    core::NodePowerRecord& record = node.record;
    if (!takes_pods(record)) continue;  // its record knows more than its drivers
    if (record.round_trips > 0 && record.depth == node.facts.depth) continue;
    record.use_depth(node.facts.depth);
    record.observable = able.can_observe;
    if (!record.measured.wake_s) record.measured.wake_s = able.wake_s;
    if (!record.measured.asleep_w) record.measured.asleep_w = able.asleep_w;
  }
}

core::SleepPlan plan_of(SleepSnapshot& snapshot) {
  placement::Fleet fleet = placement::fleet_of(snapshot.view);
  for (std::size_t row = 0; row < snapshot.nodes.size(); ++row)
    snapshot.nodes[row].order = placement::packing_w(fleet.nodes[row], fleet.usual_request);
  core::SleepInputs in;
  in.now = snapshot.now;
  in.fleet = &fleet;
  in.nodes = snapshot.nodes;
  in.pending = snapshot.pending;
  in.outlook = &snapshot.outlook;
  in.ledger = &snapshot.ledger;
  in.recommending = !snapshot.acts;
  if (!snapshot.labels.empty())
    in.may_run = [&snapshot](std::string_view pod, std::size_t row) {
      const auto found = snapshot.terms.find(pod);
      return found == snapshot.terms.end() ||
             std::any_of(found->second.begin(), found->second.end(),
                         [&](const kube::LabelSelector& one) { return one.matches(snapshot.labels[row]); });
    };
  core::SleepConfig config = snapshot.config;
  // A limit of actions; a recommendation shows the whole saving.
  if (!snapshot.acts) config.rules.sleeps_per_hour = snapshot.nodes.size();
  return core::plan_sleep(in, config);
}

}  // namespace wattle::controller::power
