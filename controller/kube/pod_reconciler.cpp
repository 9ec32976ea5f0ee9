#include "controller/kube/pod_reconciler.hpp"

#include "controller/state/sane_request.hpp"

#include <utility>

namespace wattle::controller {
namespace {

placement::PodSpec spec_of(const kube::Pod& pod) {
  placement::PodSpec spec;
  spec.uid = pod.uid;
  spec.name = pod.name;
  spec.pod_namespace = pod.pod_namespace;
  spec.app = pod.app;
  spec.owner = pod.replica_of;
  spec.request = sane_request(pod.cpu_request_cores, pod.memory_request_bytes);
  spec.daemonset = pod.daemonset;
  spec.latency_soft_ms = pod.latency_soft_ms;
  spec.latency_hard_ms = pod.latency_hard_ms;
  spec.latency_target = pod.latency_target;
  return spec;  // node_name would mean that it was bound before the decision
}

}  // namespace

bool PodReconciler::take(std::vector<kube::Change<kube::Node>> nodes, std::vector<kube::Change<kube::Pod>> seen) {
  const kube::ResolvedPods resolved = static_pods_.resolve(nodes, std::move(seen));
  const std::vector<kube::Change<kube::Pod>>& pods = resolved.pods;
  for (kube::Change<kube::Node>& change : nodes) {
    state_.adopt(change.key, change.now);
    if (change.now)
      nodes_[change.key] = std::move(change.now);
    else
      nodes_.erase(change.key);
  }
  for (const std::string& uid : resolved.released) release(uid);
  // Handles removals first: additions may need their room.
  for (const kube::Change<kube::Pod>& change : pods) {
    if (change.now && !change.now->ended) continue;
    // A failed pod may have been bound since the last call.
    if (change.now && change.now->failure != kube::PodFailure::none && state_.pod(change.key) != nullptr)
      put(change.now, change.followed);
    leave_waiting(change.key);
    sink_.on_gone(change.key);
    decider_.placements().deleted(change.key);
  }
  for (const kube::Change<kube::Pod>& change : pods)
    if (change.now && !change.now->ended) put(change.now, change.followed);
  return !nodes.empty();
}

// Another pod may use the UID now, so its cgroup is not ignored like that of a deleted pod.
void PodReconciler::release(const std::string& uid) {
  leave_waiting(uid);
  sink_.on_gone(uid);
  decider_.placements().elsewhere(uid);
}

// Counts each pod once: a pod that was bound before is watched already, or waits.
void PodReconciler::count_binding(const kube::Pod& pod) {
  if (pod.node_name.empty() || waits_at_.contains(pod.uid)) return;
  const Pod* before = state_.pod(pod.uid);
  if (before != nullptr && before->watched && !before->node.empty()) return;
  shims_.bound(pod, clock_.mono());
}

void PodReconciler::put(const PodPointer& pod, bool followed) {
  if (followed) count_binding(*pod);
  leave_waiting(pod->uid);
  if (!pod->node_name.empty() && state_.node(pod->node_name) == nullptr) {
    waiting_[pod->node_name][pod->uid] = pod;
    waits_at_[pod->uid] = pod->node_name;
    decider_.placements().elsewhere(pod->uid);
    sink_.on_elsewhere(*pod);
    return;
  }
  decider_.placements().described(spec_of(*pod), pod->unschedulable, pod->nominated_node);
  if (pod->leaving) decider_.placements().leaving(pod->uid);
  if (pod->node_name.empty()) {
    sink_.on_elsewhere(*pod);
    return;
  }
  state_.pods().name_containers(pod->uid, pod->container_ids);
  sink_.on_bound(*pod);
  decider_.placements().bound(pod->uid, pod->node_name, followed);
  if (pod->failure != kube::PodFailure::none) decider_.placements().failed(pod->uid, to_string(pod->failure));
}

void PodReconciler::leave_waiting(const std::string& uid) {
  const auto found = waits_at_.find(uid);
  if (found == waits_at_.end()) return;
  const auto at = waiting_.find(found->second);
  at->second.erase(uid);
  if (at->second.empty()) waiting_.erase(at);
  waits_at_.erase(found);
}

void PodReconciler::greeted(const std::string& node) {
  if (const auto facts = nodes_.find(node); facts != nodes_.end()) state_.adopt(node, facts->second);
  const auto found = waiting_.find(node);
  if (found == waiting_.end()) return;
  const auto pods = std::move(found->second);
  waiting_.erase(found);
  for (const auto& [uid, pod] : pods) {
    waits_at_.erase(uid);
    put(pod, false);
  }
}

}  // namespace wattle::controller
