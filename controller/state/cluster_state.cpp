#include "controller/state/cluster_state.hpp"

#include <algorithm>
#include <utility>

namespace wattle::controller {

namespace {
// An agent's Hello has the capacity at its start.
void follow_hotplug(placement::NodeView& seen, const NodeValues& now) {
  if (now.cpu_cores) seen.allocatable.cpu_cores = *now.cpu_cores;
  if (now.memory_total_bytes) seen.allocatable.memory_bytes = static_cast<double>(*now.memory_total_bytes);
}
}  // namespace

const Node* ClusterState::node(const std::string& name) const { return nodes_.find(name); }
const placement::NodeView* ClusterState::node_view(const std::string& name) const {
  const Node* found = node(name);
  return found == nullptr ? nullptr : &nodes_.rows[found->row];
}

void ClusterState::greet(const wire::Hello& hello) {
  const auto [entry, fresh] = nodes_.nodes.try_emplace(hello.node);
  Node& node = entry->second;
  if (fresh) {
    nodes_.by_name.emplace(entry->first, &node);
    node.row = nodes_.rows.add(hello.node, now_);
    pods_.count_starts(hello.node);
  }
  placement::NodeView& seen = nodes_.change(node);
  if (seen.curve.samples() == 0 && hello.cpu_cores > 0) seen.curve = placement::PowerCurve::prior(hello.cpu_cores);
  seen.allocatable = {hello.cpu_cores, static_cast<double>(hello.memory_bytes)};
  seen.pod_capacity = hello.pod_capacity == 0 ? placement::NodeView{}.pod_capacity : hello.pod_capacity;
  if (hello.link_bytes_per_s > 0) seen.link_bytes_per_s = hello.link_bytes_per_s;
  if (hello.disk_bytes_per_s > 0) seen.disk_bytes_per_s = hello.disk_bytes_per_s;
  node.hello = hello;
  node.connected = true;
  // Live values of a later incarnation never arrive in turn: the agent has lost its state, and its clock was set back.
  if (hello.incarnation < node.incarnation) node.ahead.clear();
  node.incarnation = hello.incarnation;
  node.clock.reset();  // its monotonic clock may have stood still: a suspend, a virtual machine that was paused
  judge(node);
}

void ClusterState::disconnect(const std::string& name) {
  if (Node* node = nodes_.find(name)) node->connected = false;
}

void ClusterState::sleeps(const std::string& name, const NodeSleep& now) {
  Node* node = nodes_.find(name);
  if (node == nullptr || node->sleep == now) return;
  node->sleep = now;
  judge(*node);
}

void ClusterState::adopt_curve(const std::string& name, const placement::PowerCurve& curve) {
  const Node* node = nodes_.find(name);
  if (node != nullptr && nodes_.change(*node).curve.samples() == 0) nodes_.change(*node).curve = curve;
}

std::size_t ClusterState::fold(const std::string& name, Record& record, MonoTime now) {
  return controller::fold(*nodes_.find(name), record, now);
}

RecordNews ClusterState::apply(const std::string& name, const Record& record, MonoTime received, bool ahead) {
  RecordNews news;
  Node& node = *nodes_.find(name);
  news.turn = turn_of(node, record, ahead, news.again);
  if (news.turn == Turn::late) {
    news.at = node.clock.map_late(record.mono_ns, received);
    if (!ahead) add_late(node, record);
    return news;
  }
  begin_interval(node, record);
  news.at = node.clock.map(record.mono_ns, received);
  node.sampled_at = news.at;
  nodes_.rows.sampled(node.row, news.at);
  apply_values(node, nodes_.change(node), record, received, !ahead);
  if (node.kube == nullptr) follow_hotplug(nodes_.change(node), record.node);
  pods_.settle(node, record);
  steps_ += record.workloads.size();
  if (node.parts_seen == record.parts) steps_ += node.workloads.size() + node.pods.size();
  end_workloads(node, record, !ahead);
  pods_.find_news(name, node, record, received, news);
  pods_.report_sums(node);
  return news;
}

void ClusterState::expire(MonoTime now) {
  now_ = now;
  pods_.expire(now);
  for (auto entry = nodes_.nodes.begin(); entry != nodes_.nodes.end();) {
    Node& node = entry->second;
    if (!node.deleted || node.connected || !node.pods.empty() || !node.in_flight.empty()) {
      ++entry;
      continue;
    }
    nodes_.rows.retire(node.row, now);
    nodes_.by_name.erase(entry->first);
    entry = nodes_.nodes.erase(entry);
  }
}

const placement::ClusterView& ClusterState::view(const placement::PodSpec& asked, MonoTime now) {
  nodes_.rows.report_ages(now);
  pods_.report_for(asked, now);
  return nodes_.rows.view();
}

const placement::ClusterView& ClusterState::view(const placement::PodSpec& asked, std::span<const std::size_t> rows,
                                                 MonoTime now) {
  nodes_.rows.report_ages(rows, now);
  pods_.report_for(asked, now);
  return nodes_.rows.view();
}

void ClusterState::rename(const std::string& name, const std::string& from, const std::string& to, WorkloadKind kind) {
  Node* node = nodes_.find(name);
  if (node == nullptr) return;
  auto entry = node->workloads.extract(from);
  if (entry.empty()) return;
  node->new_names.note(to);
  entry.key() = to;
  entry.mapped().values.name = to;
  entry.mapped().values.kind = kind;
  node->workloads.erase(to);
  node->workloads.insert(std::move(entry));
}

RecordMark ClusterState::newest(const std::string& name) const {
  const Node* node = this->node(name);
  if (node == nullptr) return {};
  const RecordMark shown{node->record_incarnation,
                         node->interval_seq + std::max<std::uint64_t>(node->parts_seen, 1) - 1};
  return node->ahead.empty() ? shown : std::max(shown, node->ahead.back());
}

void ClusterState::adopt(const std::string& name, std::shared_ptr<const kube::Node> facts) {
  Node* node = nodes_.find(name);
  if (node == nullptr) return;
  node->deleted = facts == nullptr;
  node->kube = std::move(facts);
  judge(*node);
}

void ClusterState::judge(Node& node) {
  placement::NodeView& seen = nodes_.change(node);
  seen.ready =
      !node.deleted && !node.sleep.closed && (node.kube == nullptr || (node.kube->ready && !node.kube->cordoned));
  seen.asleep = node.sleep.asleep;
  seen.wake_cost_j = node.sleep.wake_cost_j;
  seen.power_w = node.sleep.asleep ? std::optional(node.sleep.asleep_w) : node.power_w;
  const auto label = node.hello.labels.find(std::string(kube::kZoneLabel));
  seen.zone = label == node.hello.labels.end() ? std::string() : label->second;
  if (node.kube == nullptr) return;
  if (node.kube->cpu_cores > 0) seen.allocatable.cpu_cores = node.kube->cpu_cores;
  if (node.kube->memory_bytes > 0) seen.allocatable.memory_bytes = node.kube->memory_bytes;
  seen.pod_capacity = node.kube->pod_capacity;
  seen.zone = node.kube->zone();
  seen.soft_taints = node.kube->soft_taints;
}

}  // namespace wattle::controller
