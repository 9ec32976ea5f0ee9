#include "controller/state/pod_table.hpp"

#include <algorithm>
#include <utility>

#include "common/kube/pod.hpp"
#include "placement/worth/features.hpp"

namespace wattle::controller {
namespace {

constexpr Duration kUnseenAfter = std::chrono::seconds(15);  // a bound pod without a record for this long has ended
using std::chrono::minutes;
constexpr Duration kForgetAskAfter = minutes(10);

// Applications of different namespaces differ, even if their owners have the same name. Empty if the pod has no
// application.
std::string app_in_namespace(const placement::PodSpec& pod) {
  return pod.app.empty() ? std::string() : pod.pod_namespace + '\n' + pod.app;
}

}  // namespace

const Pod* PodTable::find(const std::string& uid) const {
  const auto found = pods_.find(uid);
  return found == pods_.end() ? nullptr : &found->second;
}

void PodTable::ask(const placement::PodSpec& spec, std::uint64_t decision_id, bool advised, MonoTime now) {
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

void PodTable::expect_on(const std::string& uid, const std::string& name, MonoTime now, Duration hold) {
  drop_expected(uid);
  Node* node = nodes_.find(name);
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

void PodTable::drop_expected(const std::string& uid) {
  const auto found = pods_.find(uid);
  if (found == pods_.end() || found->second.in_flight_to.empty()) return;
  starts_.drop(uid);
  end_flight(found->second);
}

void PodTable::end_flight(Pod& pod) {
  unlist(pod);
  Node& node = *nodes_.find(pod.in_flight_to);
  node.in_flight.erase(pod.spec.uid);
  pod.in_flight_to.clear();
  pod.nominated = false;
  report_sums(node);
  list(pod);
}

void PodTable::started(const std::string& uid, const std::string& name, MonoTime now) {
  const std::string before = starts_.hold(uid, name, now + start_window_);
  if (before != name) count_starts(before);
  count_starts(name);
}

void PodTable::count_starts(const std::string& name) {
  if (const Node* node = nodes_.find(name)) nodes_.change(*node).starts = starts_.count(name);
}

void PodTable::expire_starts(MonoTime now) {
  for (const std::string& name : starts_.expire(now)) count_starts(name);
}

bool PodTable::bind(const std::string& uid, const std::string& name, bool by_operator, MonoTime now) {
  Node* node = nodes_.find(name);
  if (node == nullptr) return false;
  drop_expected(uid);
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
    here.leaving = moved.leaving;
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

bool PodTable::unbind(const std::string& uid, const std::string& name) {
  Node* node = nodes_.find(name);
  if (node == nullptr || !node->pods.contains(uid)) return false;
  const auto found = pods_.find(uid);
  unlist(found->second);
  node->pods.erase(uid);
  node->unsettled.erase(uid);
  pods_.erase(found);
  report_sums(*node);
  return true;
}

void PodTable::list(const Pod& pod) {
  ++steps_;
  if (pod.node.empty()) {
    waiting_.add(pod);
    if (!pod.in_flight_to.empty()) {
      Node& node = *nodes_.find(pod.in_flight_to);
      node.sums.in_flight.add(pod.spec.request, 1);
      if (is_replica(pod)) nodes_.rows.count_replica(pod.spec.owner, node.row);
      report_sums(node);
    }
    return;
  }
  Node& node = *nodes_.find(pod.node);
  if (!pod.leaving) nodes_.rows.count(app_in_namespace(pod.spec), node.row);
  if (is_replica(pod)) nodes_.rows.count_replica(pod.spec.owner, node.row);
  node.sums.bound.add(pod.spec.request, 1);
  node.sums.daemonsets += pod.spec.daemonset ? 1 : 0;
  count_use(node, pod, 1);
  report_sums(node);
}

// A pod that was not listed yet has no UID.
void PodTable::unlist(const Pod& pod) {
  ++steps_;
  waiting_.remove(pod);
  if (pod.node.empty()) {
    if (!pod.in_flight_to.empty()) {
      Node& node = *nodes_.find(pod.in_flight_to);
      node.sums.in_flight.add(pod.spec.request, -1);
      if (is_replica(pod)) nodes_.rows.uncount_replica(pod.spec.owner, node.row);
      report_sums(node);
    }
    return;
  }
  Node& node = *nodes_.find(pod.node);
  node.sums.bound.add(pod.spec.request, -1);
  node.sums.daemonsets -= pod.spec.daemonset ? 1 : 0;
  count_use(node, pod, -1);
  report_sums(node);
  if (!pod.leaving) nodes_.rows.uncount(app_in_namespace(pod.spec), node.row);
  if (is_replica(pod)) nodes_.rows.uncount_replica(pod.spec.owner, node.row);
}

// The telemetry contains the use of settled pods. A pod that leaves before it settles adds nothing.
void PodTable::count_use(Node& node, const Pod& pod, double sign) {
  const bool unsettled = node.unsettled.contains(pod.spec.uid);
  if (unsettled == pod.leaving) return;
  (unsettled ? node.sums.unsettled : node.sums.leaving).add({placement::demand_cores(pod.spec), 0}, sign);
}

void PodTable::report_sums(const Node& node) {
  placement::NodeView& seen = nodes_.change(node);
  seen.starts = starts_.count(seen.name);
  seen.pods = node.pods.size() - node.sums.daemonsets;
  seen.requested = node.sums.bound.request();
  seen.in_flight = node.in_flight.size();
  seen.in_flight_request = node.sums.in_flight.request();
  seen.unsettled = node.unsettled.size();
  seen.unsettled_cpu_cores = node.sums.unsettled.request().cpu_cores;
  seen.leaving_cpu_cores = node.sums.leaving.request().cpu_cores;
}

void PodTable::report_for(const placement::PodSpec& asked, MonoTime now) {
  expire_starts(now);
  const Pod* itself = find(asked.uid);
  const std::string app = app_in_namespace(asked);
  const bool counted =
      itself != nullptr && !itself->node.empty() && !itself->leaving && app_in_namespace(itself->spec) == app;
  nodes_.rows.report_same_app(app, counted ? std::optional(nodes_.find(itself->node)->row) : std::nullopt);
  const std::string at = itself == nullptr ? std::string() : itself->node.empty() ? itself->in_flight_to : itself->node;
  const bool replica = !at.empty() && is_replica(*itself) && itself->spec.owner == asked.owner;
  nodes_.rows.report_replicas(asked.owner,
                              replica && !asked.owner.empty() ? std::optional(nodes_.find(at)->row) : std::nullopt);
  waiting_.expire_pending(now);
  nodes_.rows.report_time(now, pending() - (itself != nullptr && waiting_.is_pending(*itself) ? 1 : 0));
}

void PodTable::recall(const placement::PodSpec& spec, std::uint64_t decision_id) {
  const auto [found, fresh] = pods_.try_emplace(spec.uid);
  if (!fresh) return;
  found->second.spec = spec;
  found->second.decision_id = decision_id;
  found->second.asked_at = now_;
  list(found->second);
}

void PodTable::call_unit(const std::string& uid, const std::string& unit) {
  const auto found = pods_.find(uid);
  if (found != pods_.end()) found->second.unit = unit;
}

bool PodTable::describe(const placement::PodSpec& spec, bool unschedulable) {
  Pod& pod = pods_[spec.uid];
  // The scheduler gave up the chosen node. A condition that was already set says nothing about the last choice.
  const bool given_up = unschedulable && !pod.unschedulable && !pod.in_flight_to.empty();
  if (given_up) drop_expected(spec.uid);
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

void PodTable::nominate(const std::string& uid, const std::string& node, MonoTime now) {
  const auto found = pods_.find(uid);
  if (found == pods_.end() || !found->second.node.empty() || found->second.in_flight_to == node) return;
  if (node.empty()) {
    if (found->second.nominated) drop_expected(uid);
    return;
  }
  if (nodes_.find(node) == nullptr) return;
  expect_on(uid, node, now);
  found->second.nominated = true;
}

std::vector<placement::PodSpec> PodTable::queue(std::size_t most, const std::string& but) const {
  std::vector<placement::PodSpec> specs;
  for (const std::string& uid : waiting_.queue(most, but)) specs.push_back(pods_.at(uid).spec);
  return specs;
}

void PodTable::name_containers(const std::string& uid, std::string_view container_ids) {
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  found->second.container_ids = kube::merge_container_ids(found->second.container_ids, container_ids);
}

void PodTable::decided(const std::string& uid, std::uint64_t decision_id) {
  const auto found = pods_.find(uid);
  if (found != pods_.end()) found->second.decision_id = decision_id;
}

void PodTable::leave(const std::string& uid) {
  const auto found = pods_.find(uid);
  if (found == pods_.end() || found->second.leaving) return;
  unlist(found->second);
  found->second.leaving = true;
  list(found->second);
}

void PodTable::forget(const std::string& uid) {
  drop_expected(uid);
  const auto found = pods_.find(uid);
  if (found == pods_.end() || !found->second.node.empty()) return;
  unlist(found->second);
  pods_.erase(found);
}

void PodTable::see(const std::string& name, const std::string& uid, MonoTime now, RecordNews& news) {
  const auto found = pods_.find(uid);
  if (found == pods_.end() || found->second.node != name) {
    news.appeared.push_back(uid);
    return;
  }
  found->second.seen_at = now;
  found->second.by_operator = false;
}

// A part of an interval reports only the workloads that it lists; missing ones are detected once the interval is
// complete.
void PodTable::find_news(const std::string& name, const Node& node, const Record& record, MonoTime now,
                         RecordNews& news) {
  if (node.parts_seen == record.parts) {
    for (const auto& [uid, workload] : node.workloads)
      if (workload.values.kind == WorkloadKind::pod && workload.last_seq == node.interval_seq)
        see(name, uid, now, news);
    for (const std::string& uid : node.pods) {
      const Pod& pod = pods_.at(uid);
      if (!pod.by_operator && !pod.watched && !node.workloads.contains(uid) && now - pod.seen_at >= kUnseenAfter)
        news.gone.push_back(uid);
    }
  } else {
    for (const WorkloadValues& values : record.workloads)
      if (values.kind == WorkloadKind::pod && node.workloads.contains(values.name)) see(name, values.name, now, news);
    std::sort(news.appeared.begin(), news.appeared.end());
    news.appeared.erase(std::unique(news.appeared.begin(), news.appeared.end()), news.appeared.end());
  }
  for (const WorkloadValues& values : record.workloads) {
    if (values.ended && node.pods.contains(values.name) && !node.workloads.contains(values.name))
      news.gone.push_back(values.name);
  }
  std::sort(news.gone.begin(), news.gone.end());
  news.gone.erase(std::unique(news.gone.begin(), news.gone.end()), news.gone.end());
}

void PodTable::settle(Node& node, const Record& record) {
  if (record.interval_ns <= 0) return;
  for (const WorkloadValues& reported : record.workloads) {
    const auto found = node.unsettled.find(reported.name);
    if (found == node.unsettled.end() || !node.workloads.at(reported.name).cpu_cores) continue;
    const Pod& pod = pods_.at(reported.name);
    count_use(node, pod, -1);
    node.unsettled.erase(found);
    count_use(node, pod, 1);
  }
}

void PodTable::expire(MonoTime now) {
  now_ = now;
  while (const auto uid = waiting_.expected_until(now)) end_flight(pods_.at(*uid));
  expire_starts(now);
  while (const auto uid = waiting_.forgotten_since(now - kForgetAskAfter)) forget(*uid);
  std::erase_if(deleted_at_, [&](const auto& item) { return now - item.second >= kForgetAskAfter; });
}

}  // namespace wattle::controller
