#include "controller/state/cluster_state.hpp"

#include <algorithm>
#include <utility>

namespace wattle::controller {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
constexpr Duration kForgetAskAfter = minutes(10);
constexpr Duration kPendingFor = seconds(30);

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
  return found == nullptr ? nullptr : &view_.nodes[found->row];
}

void ClusterState::greet(const wire::Hello& hello) {
  const auto [entry, fresh] = nodes_.try_emplace(hello.node);
  Node& node = entry->second;
  if (fresh) {
    node.row = free_row(now_);
    view_.nodes[node.row] = {};
    sampled_at_.resize(view_.nodes.size());
    view_.edition_of.resize(view_.nodes.size());
    sampled_at_[node.row].reset();
    view_.nodes[node.row].name = hello.node;
    view_.nodes[node.row].starts = starts_.count(hello.node);
  }
  placement::NodeView& seen = change(node);
  if (seen.curve.samples() == 0 && hello.cpu_cores > 0) seen.curve = placement::PowerCurve::prior(hello.cpu_cores);
  seen.allocatable = {hello.cpu_cores, static_cast<double>(hello.memory_bytes)};
  seen.pod_capacity = hello.pod_capacity == 0 ? placement::NodeView{}.pod_capacity : hello.pod_capacity;
  node.hello = hello;
  node.connected = true;
  node.incarnation = hello.incarnation;
  judge(node);
}

void ClusterState::disconnect(const std::string& name) {
  if (Node* node = find(name)) node->connected = false;
}

void ClusterState::adopt_curve(const std::string& name, const placement::PowerCurve& curve) {
  const Node* node = find(name);
  if (node != nullptr && change(*node).curve.samples() == 0) change(*node).curve = curve;
}

void ClusterState::ask(const placement::PodSpec& spec, std::uint64_t decision_id, bool advised, MonoTime now) {
  Pod& pod = pods_[spec.uid];
  unlist_app(pod);
  pod.spec = spec;
  pod.asked = true;
  pod.asked_at = now;
  pod.advised = advised;
  pod.decision_id = decision_id;
  list_app(pod);
  if (!pod.node.empty()) count_pods(*find(pod.node));
}

void ClusterState::fly(const std::string& uid, const std::string& name, MonoTime now) {
  land(uid);
  Node* node = find(name);
  const auto found = pods_.find(uid);
  if (node == nullptr || found == pods_.end() || !found->second.node.empty()) return;
  found->second.in_flight_to = name;
  found->second.in_flight_since = now;
  node->in_flight.insert(uid);
  starts_.hold(uid, name, now + std::max(in_flight_expiry_, start_window_));
  count_pods(*node);
}

void ClusterState::land(const std::string& uid) {
  const auto found = pods_.find(uid);
  if (found == pods_.end() || found->second.in_flight_to.empty()) return;
  starts_.drop(uid);
  end_flight(found->second);
}

void ClusterState::end_flight(Pod& pod) {
  Node& node = *find(std::exchange(pod.in_flight_to, {}));
  node.in_flight.erase(pod.spec.uid);
  count_pods(node);
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
  Pod& pod = pods_[uid];
  if (pod.node == name) {
    pod.seen_at = now;
    return false;
  }
  if (!pod.node.empty()) {
    Pod moved = pod;
    unbind(uid, std::string(pod.node));  // forgets the pod
    pods_[uid].spec = std::move(moved.spec);
    pods_[uid].watched = moved.watched;
  }
  Pod& bound = pods_[uid];
  if (bound.spec.uid.empty()) bound.spec.uid = uid;
  unlist_app(bound);
  bound.node = name;
  list_app(bound);
  bound.seen_at = now;
  bound.by_operator = by_operator;
  node->pods.insert(uid);
  const auto workload = node->workloads.find(uid);
  if (workload == node->workloads.end() || !workload->second.cpu_cores) node->unsettled.insert(uid);
  count_pods(*node);
  return true;
}

bool ClusterState::unbind(const std::string& uid, const std::string& name) {
  Node* node = find(name);
  if (node == nullptr || node->pods.erase(uid) == 0) return false;
  node->unsettled.erase(uid);
  unlist_app(pods_.at(uid));
  pods_.erase(uid);
  count_pods(*node);
  return true;
}

void ClusterState::expire(MonoTime now) {
  now_ = now;
  std::vector<std::string> late;
  for (const auto& [uid, pod] : pods_)
    if (!pod.in_flight_to.empty() && now - pod.in_flight_since >= in_flight_expiry_) late.push_back(uid);
  for (const std::string& uid : late) end_flight(pods_.at(uid));
  expire_starts(now);
  in_flight_expired_ += late.size();
  std::erase_if(pending_, [&](const std::string& uid) { return now - pods_.at(uid).asked_at >= kPendingFor; });
  std::erase_if(pods_, [&](const auto& item) {
    const Pod& pod = item.second;
    const bool forget =
        !pod.watched && pod.node.empty() && pod.in_flight_to.empty() && now - pod.asked_at >= kForgetAskAfter;
    if (forget) pending_.erase(item.first);
    return forget;
  });
  std::erase_if(buried_, [&](const auto& item) { return now - item.second >= kForgetAskAfter; });
  retire_nodes(now);
}

void ClusterState::list_app(const Pod& pod) {
  if (pod.node.empty()) {
    if (pod.asked && !pod.advised) pending_.insert(pod.spec.uid);
  } else {
    pending_.erase(pod.spec.uid);
    if (!pod.spec.app.empty()) ++bound_by_app_[pod.spec.app][find(pod.node)->row];
  }
}

void ClusterState::unlist_app(const Pod& pod) {
  pending_.erase(pod.spec.uid);
  if (pod.node.empty() || pod.spec.app.empty()) return;
  const auto found = bound_by_app_.find(pod.spec.app);
  const auto there = found->second.find(find(pod.node)->row);
  if (--there->second == 0) found->second.erase(there);
  if (found->second.empty()) bound_by_app_.erase(found);
}

void ClusterState::count_pods(const Node& node) {
  placement::NodeView& seen = change(node);
  seen.pods = 0;
  seen.requested = {};
  for (const std::string& uid : node.pods) {
    const placement::PodSpec& spec = pods_.at(uid).spec;
    if (!spec.daemonset) ++seen.pods;
    seen.requested.cpu_cores += spec.request.cpu_cores;
    seen.requested.memory_bytes += spec.request.memory_bytes;
  }
  seen.starts = starts_.count(seen.name);
  seen.in_flight = node.in_flight.size();
  seen.in_flight_request = {};
  for (const std::string& uid : node.in_flight) {
    const placement::PodSpec& spec = pods_.at(uid).spec;
    seen.in_flight_request.cpu_cores += spec.request.cpu_cores;
    seen.in_flight_request.memory_bytes += spec.request.memory_bytes;
  }
  seen.unsettled = node.unsettled.size();
  seen.unsettled_cpu_cores = 0;
  for (const std::string& uid : node.unsettled) seen.unsettled_cpu_cores += placement::demand_cores(pods_.at(uid).spec);
}

const placement::ClusterView& ClusterState::view(const placement::PodSpec& asked, MonoTime now) {
  // Row by row: a walk over the names would cost as much as the decision.
  for (std::size_t row = 0; row < view_.nodes.size(); ++row) tell_age(row, now);
  count_what_waits(asked, now);
  return view_;
}

const placement::ClusterView& ClusterState::view(const placement::PodSpec& asked, std::span<const std::size_t> rows,
                                                 MonoTime now) {
  for (const std::size_t row : rows)
    if (row < view_.nodes.size()) tell_age(row, now);
  count_what_waits(asked, now);
  return view_;
}

void ClusterState::tell_age(std::size_t row, MonoTime now) {
  const std::optional<MonoTime>& at = sampled_at_[row];
  view_.nodes[row].telemetry_age = at ? std::optional(std::max(Duration{0}, now - *at)) : std::nullopt;
}

// What depends on the pod and on those that wait beside it.
void ClusterState::count_what_waits(const placement::PodSpec& asked, MonoTime now) {
  expire_starts(now);
  view_.now = now;
  for (const std::size_t row : same_app_) view_.nodes[row].same_app_pods = 0;
  same_app_.clear();
  const auto same = bound_by_app_.find(asked.app);
  if (same != bound_by_app_.end()) {
    for (const auto& [row, pods] : same->second) {
      view_.nodes[row].same_app_pods = pods;
      same_app_.push_back(row);
    }
    const Pod* itself = pod(asked.uid);
    if (itself != nullptr && !itself->node.empty() && itself->spec.app == asked.app)
      --view_.nodes[find(itself->node)->row].same_app_pods;
  }
  view_.pending_pods = 0;
  for (const std::string& uid : pending_) {
    const Pod& pod = pods_.at(uid);
    if (uid != asked.uid && now - pod.asked_at < kPendingFor) ++view_.pending_pods;
  }
}

}  // namespace wattle::controller
