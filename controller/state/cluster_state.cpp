#include "controller/state/cluster_state.hpp"

#include <algorithm>
#include <utility>

#include "common/kube/pod.hpp"

namespace wattle::controller {
namespace {

using std::chrono::minutes;
constexpr Duration kForgetAskAfter = minutes(10);

// Applications of different namespaces differ, even if their owners have the same name. Empty if the pod has no
// application.
std::string app_in_namespace(const placement::PodSpec& pod) {
  return pod.app.empty() ? std::string() : pod.pod_namespace + '\n' + pod.app;
}

}  // namespace

Node* ClusterState::find(const std::string& name) {
  const auto found = nodes_.find(name);
  return found == nodes_.end() ? nullptr : &found->second;
}
const Node* ClusterState::node(const std::string& name) const {
  const auto found = nodes_.find(name);
  return found == nodes_.end() ? nullptr : &found->second;
}
const Pod* ClusterState::pod(const std::string& uid) const {
  const auto found = pods_.find(uid);
  return found == pods_.end() ? nullptr : &found->second;
}
const placement::NodeView* ClusterState::node_view(const std::string& name) const {
  const Node* found = node(name);
  return found == nullptr ? nullptr : &rows_[found->row];
}

void ClusterState::greet(const wire::Hello& hello) {
  const auto [entry, fresh] = nodes_.try_emplace(hello.node);
  Node& node = entry->second;
  if (fresh) {
    node.row = rows_.add(hello.node, now_);
    change(node).starts = starts_.count(hello.node);
  }
  placement::NodeView& seen = change(node);
  if (seen.curve.samples() == 0 && hello.cpu_cores > 0) seen.curve = placement::PowerCurve::prior(hello.cpu_cores);
  seen.allocatable = {hello.cpu_cores, static_cast<double>(hello.memory_bytes)};
  seen.pod_capacity = hello.pod_capacity == 0 ? placement::NodeView{}.pod_capacity : hello.pod_capacity;
  if (hello.link_bytes_per_s > 0) seen.link_bytes_per_s = hello.link_bytes_per_s;
  if (hello.disk_bytes_per_s > 0) seen.disk_bytes_per_s = hello.disk_bytes_per_s;
  node.hello = hello;
  node.connected = true;
  node.incarnation = hello.incarnation;
  judge(node);
}

void ClusterState::disconnect(const std::string& name) {
  if (Node* node = find(name)) node->connected = false;
}

void ClusterState::sleeps(const std::string& name, const NodeSleep& now) {
  Node* node = find(name);
  if (node == nullptr || node->sleep == now) return;
  node->sleep = now;
  judge(*node);
}

void ClusterState::adopt_curve(const std::string& name, const placement::PowerCurve& curve) {
  const Node* node = find(name);
  if (node != nullptr && change(*node).curve.samples() == 0) change(*node).curve = curve;
}

void ClusterState::ask(const placement::PodSpec& spec, std::uint64_t decision_id, bool advised, MonoTime now) {
  Pod& pod = pods_[spec.uid];
  unlist(pod);
  // Any client of a shim can name any pod, so an ask does not change the spec from the API server.
  if (pod.watched)
    pod.spec.demand_cores = spec.demand_cores;
  else
    pod.spec = spec;
  pod.asked = true;
  pod.asked_at = now;
  pod.advised = advised;
  pod.decision_id = decision_id;
  list(pod);
  if (waiting_.unplaced() > kMaxAsked) forget(*waiting_.forgotten_since(MonoTime::max()));
}

void ClusterState::fly(const std::string& uid, const std::string& name, MonoTime now, Duration hold) {
  land(uid);
  Node* node = find(name);
  const auto found = pods_.find(uid);
  if (node == nullptr || found == pods_.end() || !found->second.node.empty()) return;
  Pod& pod = found->second;
  unlist(pod);
  pod.in_flight_to = name;
  pod.in_flight_until = now + std::max(in_flight_expiry_, std::min(hold, kLongestHold));
  node->in_flight.insert(uid);
  starts_.hold(uid, name, now + std::max(in_flight_expiry_, start_window_));
  list(pod);
  if (waiting_.expected() > kMaxAsked) end_flight(pods_.at(*waiting_.expected_until(MonoTime::max())));
}

void ClusterState::land(const std::string& uid) {
  const auto found = pods_.find(uid);
  if (found == pods_.end() || found->second.in_flight_to.empty()) return;
  starts_.drop(uid);
  end_flight(found->second);
}

void ClusterState::end_flight(Pod& pod) {
  unlist(pod);
  Node& node = *find(pod.in_flight_to);
  node.in_flight.erase(pod.spec.uid);
  pod.in_flight_to.clear();
  pod.nominated = false;
  report_sums(node);
  list(pod);
}

void ClusterState::started(const std::string& uid, const std::string& name, MonoTime now) {
  const std::string before = starts_.hold(uid, name, now + start_window_);
  if (before != name) count_starts(before);
  count_starts(name);
}

void ClusterState::count_starts(const std::string& name) {
  if (const Node* node = find(name)) change(*node).starts = starts_.count(name);
}

void ClusterState::expire_starts(MonoTime now) {
  for (const std::string& name : starts_.expire(now)) count_starts(name);
}

bool ClusterState::bind(const std::string& uid, const std::string& name, bool by_operator, MonoTime now) {
  Node* node = find(name);
  if (node == nullptr) return false;
  land(uid);
  const auto [found, fresh] = pods_.try_emplace(uid);
  if (found->second.node == name) {
    found->second.seen_at = now;
    return false;
  }
  if (fresh) found->second.spec.uid = uid;
  if (!found->second.node.empty()) {
    Pod moved = found->second;
    unbind(uid, std::string(moved.node));  // forgets the pod
    Pod& here = pods_[uid];
    here.spec = std::move(moved.spec);
    here.watched = moved.watched;
  }
  Pod& bound = pods_[uid];
  unlist(bound);
  bound.node = name;
  bound.seen_at = now;
  bound.by_operator = by_operator;
  node->pods.insert(uid);
  const auto workload = node->workloads.find(uid);
  if (workload == node->workloads.end() || !workload->second.cpu_cores) node->unsettled.insert(uid);
  list(bound);
  return true;
}

bool ClusterState::unbind(const std::string& uid, const std::string& name) {
  Node* node = find(name);
  if (node == nullptr || !node->pods.contains(uid)) return false;
  const auto found = pods_.find(uid);
  unlist(found->second);
  node->pods.erase(uid);
  node->unsettled.erase(uid);
  pods_.erase(found);
  report_sums(*node);
  return true;
}

void ClusterState::expire(MonoTime now) {
  now_ = now;
  while (const auto uid = waiting_.expected_until(now)) end_flight(pods_.at(*uid));
  expire_starts(now);
  while (const auto uid = waiting_.forgotten_since(now - kForgetAskAfter)) forget(*uid);
  std::erase_if(buried_, [&](const auto& item) { return now - item.second >= kForgetAskAfter; });
  retire_nodes(now);
}

void ClusterState::list(const Pod& pod) {
  ++steps_;
  if (pod.node.empty()) {
    waiting_.add(pod);
    if (!pod.in_flight_to.empty()) {
      Node& node = *find(pod.in_flight_to);
      node.sums.in_flight.add(pod.spec.request, 1);
      if (!pod.spec.daemonset) rows_.count_replica(pod.spec.owner, node.row);
      report_sums(node);
    }
    return;
  }
  Node& node = *find(pod.node);
  rows_.count(app_in_namespace(pod.spec), node.row);
  if (!pod.spec.daemonset) rows_.count_replica(pod.spec.owner, node.row);
  node.sums.bound.add(pod.spec.request, 1);
  node.sums.daemonsets += pod.spec.daemonset ? 1 : 0;
  if (node.unsettled.contains(pod.spec.uid)) node.sums.unsettled.add({placement::demand_cores(pod.spec), 0}, 1);
  report_sums(node);
}

// A pod that was not listed yet has no UID.
void ClusterState::unlist(const Pod& pod) {
  ++steps_;
  waiting_.remove(pod);
  if (pod.node.empty()) {
    if (!pod.in_flight_to.empty()) {
      Node& node = *find(pod.in_flight_to);
      node.sums.in_flight.add(pod.spec.request, -1);
      if (!pod.spec.daemonset) rows_.uncount_replica(pod.spec.owner, node.row);
      report_sums(node);
    }
    return;
  }
  Node& node = *find(pod.node);
  node.sums.bound.add(pod.spec.request, -1);
  node.sums.daemonsets -= pod.spec.daemonset ? 1 : 0;
  if (node.unsettled.contains(pod.spec.uid)) node.sums.unsettled.add({placement::demand_cores(pod.spec), 0}, -1);
  report_sums(node);
  rows_.uncount(app_in_namespace(pod.spec), node.row);
  if (!pod.spec.daemonset) rows_.uncount_replica(pod.spec.owner, node.row);
}

void ClusterState::report_sums(const Node& node) {
  placement::NodeView& seen = change(node);
  seen.starts = starts_.count(seen.name);
  seen.pods = node.pods.size() - node.sums.daemonsets;
  seen.requested = node.sums.bound.request();
  seen.in_flight = node.in_flight.size();
  seen.in_flight_request = node.sums.in_flight.request();
  seen.unsettled = node.unsettled.size();
  seen.unsettled_cpu_cores = node.sums.unsettled.request().cpu_cores;
}

const placement::ClusterView& ClusterState::view(const placement::PodSpec& asked, MonoTime now) {
  rows_.report_ages(now);
  count_what_waits(asked, now);
  return rows_.view();
}

const placement::ClusterView& ClusterState::view(const placement::PodSpec& asked, std::span<const std::size_t> rows,
                                                 MonoTime now) {
  rows_.report_ages(rows, now);
  count_what_waits(asked, now);
  return rows_.view();
}

// Counts what depends on the pod and on those that wait beside it.
void ClusterState::count_what_waits(const placement::PodSpec& asked, MonoTime now) {
  expire_starts(now);
  const Pod* itself = pod(asked.uid);
  const std::string app = app_in_namespace(asked);
  const bool counted = itself != nullptr && !itself->node.empty() && app_in_namespace(itself->spec) == app;
  rows_.report_same_app(app, counted ? std::optional(find(itself->node)->row) : std::nullopt);
  const std::string at = itself == nullptr ? std::string() : itself->node.empty() ? itself->in_flight_to : itself->node;
  const bool replica = !at.empty() && !itself->spec.daemonset && itself->spec.owner == asked.owner;
  rows_.report_replicas(asked.owner, replica && !asked.owner.empty() ? std::optional(find(at)->row) : std::nullopt);
  waiting_.expire_pending(now);
  rows_.report_time(now, pending() - (itself != nullptr && waiting_.is_pending(*itself) ? 1 : 0));
}

void ClusterState::recall(const placement::PodSpec& spec, std::uint64_t decision_id) {
  const auto [found, fresh] = pods_.try_emplace(spec.uid);
  if (!fresh) return;
  found->second.spec = spec;
  found->second.decision_id = decision_id;
  found->second.asked_at = now_;
  list(found->second);
}

void ClusterState::rename(const std::string& name, const std::string& from, const std::string& to, WorkloadKind kind) {
  Node* node = find(name);
  if (node == nullptr) return;
  auto entry = node->workloads.extract(from);
  if (entry.empty()) return;
  node->newcomers.note(to);
  entry.key() = to;
  entry.mapped().values.name = to;
  entry.mapped().values.kind = kind;
  node->workloads.erase(to);
  node->workloads.insert(std::move(entry));
}

void ClusterState::call_unit(const std::string& uid, const std::string& unit) {
  const auto found = pods_.find(uid);
  if (found != pods_.end()) found->second.unit = unit;
}

RecordMark ClusterState::newest(const std::string& name) const {
  const Node* node = this->node(name);
  if (node == nullptr) return {};
  const RecordMark shown{node->record_incarnation,
                         node->interval_seq + std::max<std::uint64_t>(node->parts_seen, 1) - 1};
  return node->ahead.empty() ? shown : std::max(shown, node->ahead.back());
}

void ClusterState::adopt(const std::string& name, std::shared_ptr<const kube::Node> facts) {
  Node* node = find(name);
  if (node == nullptr) return;
  node->deleted = facts == nullptr;
  node->kube = std::move(facts);
  judge(*node);
}

void ClusterState::judge(Node& node) {
  placement::NodeView& seen = change(node);
  seen.ready =
      !node.deleted && !node.sleep.closed && (node.kube == nullptr || (node.kube->ready && !node.kube->cordoned));
  seen.asleep = node.sleep.asleep;
  seen.wake_cost_j = node.sleep.wake_cost_j;
  const auto label = node.hello.labels.find(std::string(kube::kZoneLabel));
  seen.zone = label == node.hello.labels.end() ? std::string() : label->second;
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
