// watched: the part of ClusterState that applies the API server's reports.
#include <utility>

#include "common/kube/pod.hpp"
#include "controller/state/cluster_state.hpp"

namespace wattle::controller {
void ClusterState::adopt(const std::string& name, std::shared_ptr<const kube::Node> facts) {
  Node* node = find(name);
  if (node == nullptr) return;
  node->deleted = facts == nullptr;
  node->kube = std::move(facts);
  judge(*node);
}

void ClusterState::judge(Node& node) {
  placement::NodeView& seen = change(node);
  seen.ready = !node.deleted && (node.kube == nullptr || (node.kube->ready && !node.kube->cordoned));
  const auto told = node.hello.labels.find(std::string(kube::kZoneLabel));
  seen.zone = told == node.hello.labels.end() ? std::string() : told->second;
  if (node.kube == nullptr) return;
  if (node.kube->cpu_cores > 0) seen.allocatable.cpu_cores = node.kube->cpu_cores;
  if (node.kube->memory_bytes > 0) seen.allocatable.memory_bytes = node.kube->memory_bytes;
  seen.pod_capacity = node.kube->pod_capacity;
  seen.zone = node.kube->zone();
  seen.soft_taints = node.kube->soft_taints;
}

bool ClusterState::describe(const placement::PodSpec& spec, bool unschedulable) {
  Pod& pod = pods_[spec.uid];
  // The scheduler gave up the chosen node. A condition that was already set says nothing about the last choice.
  const bool given_up = unschedulable && !pod.unschedulable && !pod.in_flight_to.empty();
  if (given_up) land(spec.uid);
  unlist(pod);
  if (pod.number == 0) pod.number = ++described_;
  pod.watched = true;
  pod.unschedulable = unschedulable && !spec.daemonset;  // a DaemonSet pod waits for one specific node
  const auto predicted = pod.spec.demand_cores;
  pod.spec = spec;
  if (!pod.spec.demand_cores) pod.spec.demand_cores = predicted;
  list(pod);
  return given_up;
}

void ClusterState::nominate(const std::string& uid, const std::string& node, MonoTime now) {
  const auto found = pods_.find(uid);
  if (found == pods_.end() || !found->second.node.empty() || found->second.in_flight_to == node) return;
  if (node.empty()) {
    if (found->second.nominated) land(uid);
    return;
  }
  if (find(node) == nullptr) return;
  fly(uid, node, now);
  found->second.nominated = true;
}

std::vector<placement::PodSpec> ClusterState::queue(std::size_t most, const std::string& but) const {
  std::vector<placement::PodSpec> specs;
  for (const std::string& uid : waiting_.queue(most, but)) specs.push_back(pods_.at(uid).spec);
  return specs;
}

void ClusterState::name_containers(const std::string& uid, std::string_view container_ids) {
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  found->second.container_ids = kube::merge_container_ids(found->second.container_ids, container_ids);
}

void ClusterState::decided(const std::string& uid, std::uint64_t decision_id) {
  const auto found = pods_.find(uid);
  if (found != pods_.end()) found->second.decision_id = decision_id;
}

void ClusterState::forget(const std::string& uid) {
  land(uid);
  const auto found = pods_.find(uid);
  if (found == pods_.end() || !found->second.node.empty()) return;
  unlist(found->second);
  pods_.erase(found);
}

void ClusterState::retire_nodes(MonoTime now) {
  for (auto entry = nodes_.begin(); entry != nodes_.end();) {
    Node& node = entry->second;
    if (!node.deleted || node.connected || !node.pods.empty() || !node.in_flight.empty()) {
      ++entry;
      continue;
    }
    rows_.retire(node.row, now);
    entry = nodes_.erase(entry);
  }
}

}  // namespace wattle::controller
