#include "controller/state/cluster_state.hpp"

#include <algorithm>
#include <utility>

namespace wattle::controller {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
constexpr std::uint64_t kMissedRecords = 3;     // a workload that is missing so often has gone
constexpr Duration kUnseenAfter = seconds(15);  // a bound pod that no record names for that long has gone
constexpr Duration kForgetAskAfter = minutes(10);
constexpr Duration kPendingFor = seconds(30);
constexpr std::size_t kMostAhead = 4096;  // of a node: over an hour's of outage

std::optional<double> mean_w(std::optional<std::uint64_t> energy_uj, std::int64_t interval_ns) {
  if (!energy_uj || interval_ns <= 0) return std::nullopt;
  return static_cast<double>(*energy_uj) * 1e3 / static_cast<double>(interval_ns);
}

void add_joules(std::optional<double>& sum_j, std::optional<std::uint64_t> energy_uj) {
  if (energy_uj) sum_j = sum_j.value_or(0.0) + static_cast<double>(*energy_uj) * 1e-6;
}

template <class T>
void add(std::optional<T>& sum, const std::optional<T>& more) {
  if (more) sum = sum.value_or(T{}) + *more;
}

// A pod may have a root cgroup per container: it is one workload.
void merge(WorkloadValues& into, const WorkloadValues& more) {
  into.ended = into.ended && more.ended;
  add(into.cpu_usage_us, more.cpu_usage_us);
  add(into.energy_uj, more.energy_uj);
  add(into.memory_bytes, more.memory_bytes);
  add(into.io_read_bytes, more.io_read_bytes);
  add(into.io_write_bytes, more.io_write_bytes);
  add(into.pids, more.pids);
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

Turn ClusterState::turn_of(Node& node, const Record& record, bool ahead, bool& again) {
  const RecordMark mark{record.incarnation, record.seq};
  const bool late = !node.ahead.empty() && mark <= node.ahead.back();
  if (ahead) {
    if (!late) node.ahead.push_back(mark);
    if (node.ahead.size() > kMostAhead) node.ahead.pop_front();
    again = late;
    return late ? Turn::late : Turn::ahead;
  }
  again = late && mark.incarnation != node.record_incarnation;
  while (!node.ahead.empty() && node.ahead.front() <= mark) {
    again = again || node.ahead.front() == mark;
    node.ahead.pop_front();
  }
  return late ? Turn::late : Turn::its_own;
}

// Energy of a workload that has gone meanwhile is in the store's ledger.
void ClusterState::add_up(Node& node, const Record& record) {
  if (record.part == 0) add_joules(node.energy_j, record.node.energy_uj);
  for (const WorkloadValues& values : record.workloads) {
    const auto known = node.workloads.find(values.name);
    if (known != node.workloads.end()) add_joules(known->second.energy_j, values.energy_uj);
  }
}

RecordNews ClusterState::apply(const std::string& name, const Record& record, MonoTime received, bool ahead) {
  RecordNews news;
  Node& node = *find(name);
  news.turn = turn_of(node, record, ahead, news.again);
  if (news.turn == Turn::late) {
    news.at = node.clock.map(record.mono_ns, received);
    if (!ahead) add_up(node, record);
    return news;
  }
  const std::uint64_t first_seq = record.seq - std::min(record.part, record.seq);
  // Another incarnation may be another boot, whose clock began anew.
  const bool reborn = std::exchange(node.record_incarnation, record.incarnation) != record.incarnation;
  if (reborn) node.clock.reset();
  if (std::exchange(node.interval_seq, first_seq) != first_seq || reborn) {
    ++node.samples;
    node.parts_seen = 0;
  }
  ++node.parts_seen;
  news.at = node.clock.map(record.mono_ns, received);
  node.sampled_at = sampled_at_[node.row] = news.at;
  node.interval_ns = record.interval_ns;
  if (record.part == 0) apply_node(node, record);
  apply_workloads(node, record, received);
  if (node.parts_seen == record.parts) finish_interval(node, record);
  std::erase_if(node.workloads, [&](const auto& item) {
    const Workload& workload = item.second;
    const bool long_since = first_seq < workload.last_seq || first_seq - workload.last_seq >= kMissedRecords;
    return workload.values.ended || (workload.missing && long_since);
  });
  find_news(name, node, record, received, news);
  count_pods(node);
  if (!ahead) add_up(node, record);
  return news;
}

void ClusterState::apply_node(Node& node, const Record& record) {
  node.values = record.node;
  node.probes = record.probes;
  const bool gap = std::any_of(record.node.domains.begin(), record.node.domains.end(),
                               [](const EnergyDomain& domain) { return domain.gap; });
  node.power_w = gap ? std::nullopt : mean_w(record.node.energy_uj, record.interval_ns);
  node.idle_w = mean_w(record.node.idle_energy_uj, record.interval_ns);
  node.unattributed_w = mean_w(record.node.unattributed_energy_uj, record.interval_ns);

  placement::NodeView& seen = change(node);
  seen.values = record.node;
  seen.power_w = node.power_w;
  seen.latency_ms.clear();
  for (const ProbeValues& probe : record.probes)
    if (probe.p50_ms) seen.latency_ms[probe.target] = *probe.p50_ms;
  const auto utilisation = placement::cpu_utilisation(seen);
  if (utilisation && node.power_w) seen.curve.observe(*utilisation, *node.power_w);
}

void ClusterState::apply_workloads(Node& node, const Record& record, MonoTime received) {
  for (const WorkloadValues& told : record.workloads) {
    const auto [entry, fresh] = node.workloads.try_emplace(told.name);
    Workload& workload = entry->second;
    const bool another_root = workload.listed == node.samples;  // of one name they are in one record
    if (another_root)
      merge(workload.values, told);
    else
      workload.values = told;
    const WorkloadValues& values = workload.values;
    if (fresh) workload.first_seen = received;
    workload.last_seq = node.interval_seq;
    workload.listed = node.samples;
    workload.missing = false;
    workload.cpu_cores.reset();
    if (values.cpu_usage_us && record.interval_ns > 0) {
      workload.cpu_cores = static_cast<double>(*values.cpu_usage_us) * 1e3 / static_cast<double>(record.interval_ns);
      node.unsettled.erase(told.name);
    }
    workload.power_w = mean_w(values.energy_uj, record.interval_ns);
  }
}

void ClusterState::finish_interval(Node& node, const Record& record) {
  for (auto& [name, workload] : node.workloads) {
    if (workload.listed == node.samples) continue;
    if (!record.partial || workload.missing) {
      workload.missing = true;
      workload.cpu_cores.reset();
      workload.power_w.reset();
      continue;
    }
    workload.last_seq = node.interval_seq;
    workload.values = at_rest(std::move(workload.values));
    if (workload.cpu_cores) workload.cpu_cores = 0;
    if (workload.power_w) workload.power_w = 0;
  }
}

void ClusterState::find_news(const std::string& name, const Node& node, const Record& record, MonoTime now,
                             RecordNews& news) {
  for (const auto& [uid, workload] : node.workloads) {
    if (workload.values.kind != WorkloadKind::pod || workload.last_seq != node.interval_seq) continue;
    const auto found = pods_.find(uid);
    if (found == pods_.end() || found->second.node != name) {
      news.appeared.push_back(uid);
      continue;
    }
    found->second.seen_at = now;
    found->second.by_operator = false;
  }
  for (const std::string& uid : node.pods) {
    const Pod& pod = pods_.at(uid);
    if (!pod.by_operator && !pod.watched && !node.workloads.contains(uid) && now - pod.seen_at >= kUnseenAfter)
      news.gone.push_back(uid);
  }
  for (const WorkloadValues& values : record.workloads) {
    if (values.ended && node.pods.contains(values.name) && !node.workloads.contains(values.name))
      news.gone.push_back(values.name);
  }
  std::sort(news.gone.begin(), news.gone.end());
  news.gone.erase(std::unique(news.gone.begin(), news.gone.end()), news.gone.end());
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
  count_pods(*node);
}

void ClusterState::land(const std::string& uid) {
  const auto found = pods_.find(uid);
  if (found == pods_.end() || found->second.in_flight_to.empty()) return;
  const std::string name = std::exchange(found->second.in_flight_to, {});
  Node& node = *find(name);
  node.in_flight.erase(uid);
  count_pods(node);
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
  for (const std::string& uid : late) land(uid);
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
