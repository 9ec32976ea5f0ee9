#include "controller/provision/request_book.hpp"

#include "controller/state/sane_request.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "controller/decisions/decider.hpp"
#include "controller/provision/sizing_facts.hpp"
#include "placement/cluster/demand.hpp"

namespace wattle::controller {
namespace {

constexpr Duration kBookMinute = std::chrono::minutes(1);
constexpr double kMemorySpan_s = 600;
constexpr double kForget_s = 14 * 86'400.0;
constexpr std::uint64_t kBodyVersion = 1;
constexpr double kSameRatio = 0.01;

std::string packed_workload(const RequestWorkload& workload) {
  placement::PackWriter out;
  out.word(kBodyVersion);
  out.real(workload.original.cpu_cores);
  out.real(workload.original.memory_bytes);
  out.text(workload.containers);
  out.real(workload.seen_s);
  workload.rule.pack(out);
  return out.take();
}

bool is_other(std::optional<double> suggested, double original) {
  return suggested && std::abs(*suggested - original) > kSameRatio * std::max(original, 1e-9);
}

// Share of a node that a pod takes: of cores or of memory, whichever is larger.
double share_of(const placement::Resources& node, const placement::Resources& pod) {
  const double cores = node.cpu_cores > 0 ? pod.cpu_cores / node.cpu_cores : 0;
  const double memory = node.memory_bytes > 0 ? pod.memory_bytes / node.memory_bytes : 0;
  return std::max(cores, memory);
}

void add(placement::Resources& sum, const placement::Resources& more) {
  sum.cpu_cores += more.cpu_cores;
  sum.memory_bytes += more.memory_bytes;
}

// Counts a pod; `pods` is 1, or -1 to remove the pod's previous values.
void count_states(RequestWorkload& workload, kube::PodResize resize, kube::PodProvision level, bool set, int pods) {
  const auto count = [pods](std::size_t& sum) { sum += static_cast<std::size_t>(pods); };
  if (set) count(workload.resizes.set);
  count(workload.resizes.by_result[static_cast<std::size_t>(resize)]);
  count(workload.levels.by_level[static_cast<std::size_t>(level)]);
  if (set && level == kube::PodProvision::limits) count(workload.levels.both);
}

void add(ResizeCounts& sum, const ResizeCounts& more) {
  sum.set += more.set;
  for (std::size_t i = 0; i < sum.by_result.size(); ++i) sum.by_result[i] += more.by_result[i];
  add(sum.given_up, more.given_up);
}

}  // namespace

std::string workload_of(const kube::Pod& pod) {
  return pod.pod_namespace + "/" + placement::app_key_of(pod.owner, pod.pod_namespace).owner;
}

void Freed::add(const Freed& other) {
  cpu_cores += other.cpu_cores;
  memory_bytes += other.memory_bytes;
  if (other.power_w) power_w = power_w.value_or(0) + *other.power_w;
}

std::optional<double> RequestWorkload::suggested_cores() const {
  if (!rule.cpu_cores()) return std::nullopt;
  return placement::floor_of(*rule.cpu_cores(), original.cpu_cores, shrink_allowed);
}

std::optional<double> RequestWorkload::suggested_bytes() const {
  if (!rule.memory_bytes()) return std::nullopt;
  return placement::floor_of(*rule.memory_bytes(), original.memory_bytes, shrink_allowed);
}

kube::PodProvision level_apart(const RequestWorkload& workload) {
  if (workload.pods == 0) return kube::PodProvision::unsaid;
  for (const auto level : {kube::PodProvision::limits, kube::PodProvision::off})
    if (workload.levels.of(level) >= workload.pods) return level;
  return kube::PodProvision::unsaid;
}

bool differs(const RequestWorkload& workload) {
  if (level_apart(workload) != kube::PodProvision::unsaid) return false;
  return is_other(workload.suggested_cores(), workload.request.cpu_cores) ||
         is_other(workload.suggested_bytes(), workload.request.memory_bytes);
}

const std::string* RequestBook::workload_with(const std::string& uid) const {
  const auto found = pods_.find(uid);
  return found == pods_.end() ? nullptr : &found->second.workload;
}

RequestBook::RequestBook(const Clock& clock, std::span<const RequestRow> found,
                         std::function<void(std::vector<RequestRow>)> keep, placement::RequestOptions options)
    : clock_(clock), on_(true), keep_(std::move(keep)), options_(options) {
  for (const RequestRow& row : found) restore(row);
}

double RequestBook::now_s() const { return static_cast<double>(to_ns(clock_.wall())) * 1e-9; }

void RequestBook::restore(const RequestRow& row) {
  const auto slash = row.workload.find('/');
  placement::PackReader in(row.body);
  RequestWorkload workload;
  workload.rule = placement::RequestRule(options_);
  const bool ours = in.word() == kBodyVersion && slash != std::string::npos;
  workload.original.cpu_cores = in.real();
  workload.original.memory_bytes = in.real();
  workload.containers = in.text();
  workload.seen_s = in.real();
  workload.rule.unpack(in);
  if (!ours || !in.done() || workload.original.cpu_cores < 0 || workload.original.memory_bytes < 0) {
    ++unreadable_;
    return;
  }
  if (workloads_.size() >= kMostRequestWorkloads) return;
  workload.request = workload.original;
  workload.name_space = row.workload.substr(0, slash);
  workload.owner = row.workload.substr(slash + 1);
  workloads_.emplace(row.workload, std::move(workload));
}

// Returns false if all workloads have pods.
bool RequestBook::make_room() {
  if (workloads_.size() < kMostRequestWorkloads) return true;
  auto oldest = workloads_.end();
  for (auto at = workloads_.begin(); at != workloads_.end(); ++at)
    if (at->second.pods == 0 && (oldest == workloads_.end() || at->second.seen_s < oldest->second.seen_s)) oldest = at;
  if (oldest == workloads_.end()) return false;
  workloads_.erase(oldest);
  return true;
}

void RequestBook::described(const kube::Pod& pod) {
  // A static pod comes from its node's own file, so its request cannot be changed.
  if (!on_ || pod.uid.empty() || pod.owner.starts_with("Node/") || pod.leaving) return;
  const std::string key = workload_of(pod);
  auto found = workloads_.find(key);
  const bool known = pods_.contains(pod.uid);
  if ((!known && pods_.size() >= kMostRequestPods) || (found == workloads_.end() && !make_room())) {
    ++beyond_;
    return;
  }
  if (found == workloads_.end()) {
    RequestWorkload made;
    made.rule = placement::RequestRule(options_);
    made.name_space = pod.pod_namespace;
    made.owner = placement::app_key_of(pod.owner, pod.pod_namespace).owner;
    found = workloads_.emplace(key, std::move(made)).first;
  }
  Watched& watched = pods_[pod.uid];
  if (watched.workload == key) count_states(found->second, watched.resize, watched.provision, watched.set, -1);
  watched.workload = key;
  watched.request = sane_request(pod.cpu_request_cores, pod.memory_request_bytes);
  watched.shrink_allowed = pod.shrink_allowed;
  watched.set = pod.requests_set;
  watched.provision = pod.provision;
  watched.resize = pod.resize;
  watched.resize_message = pod.resize_message;
  RequestWorkload& workload = found->second;
  // Counts the pod now, so that the workload keeps its place until the minute is over.
  workload.pods = std::max<std::size_t>(workload.pods, 1);
  workload.shrink_allowed = pod.shrink_allowed;
  count_states(workload, watched.resize, watched.provision, watched.set, 1);
  if (watched.resize > kube::PodResize::in_progress) workload.resizes.message = watched.resize_message;
  workload.request = watched.request;
  const bool has_original = workload.original.cpu_cores > 0 || workload.original.memory_bytes > 0;
  if (!watched.set || !has_original) workload.original = watched.request;
  workload.containers = pod.containers;
  workload.qos = pod.qos;
  workload.seen_s = now_s();
}

std::map<std::string, std::vector<std::string>> RequestBook::pods_of(const std::string& name_space) const {
  std::map<std::string, std::vector<std::string>> uids;
  for (const auto& [uid, pod] : pods_)
    if (pod.workload.starts_with(name_space + "/")) uids[pod.workload].push_back(uid);
  return uids;
}

void RequestBook::record(const Node& node) {
  const double seconds = static_cast<double>(node.interval_ns) * 1e-9;
  if (!(seconds > 0)) return;
  for (const std::string& uid : node.pods) {
    const auto known = pods_.find(uid);
    const auto reported = node.workloads.find(uid);
    if (known == pods_.end() || reported == node.workloads.end() || reported->second.missing) continue;
    Watched& pod = known->second;
    const WorkloadValues& values = reported->second.values;
    if (reported->second.cpu_cores) {
      placement::PodUse use{reported->second.whole_cores(), values.pressure.cpu_some_ratio, std::nullopt};
      if (values.cpu_throttled_us) use.throttled_ratio = static_cast<double>(*values.cpu_throttled_us) * 1e-6 / seconds;
      pod.needed_core_s += placement::needed_cores(use) * seconds;
      pod.used_core_s += use.cores * seconds;
      pod.seconds += seconds;
    }
    if (!values.memory_bytes) continue;
    pod.memory = pod_memory(values, pod.needed_bytes);
    pod.needed_bytes = std::max(pod.needed_bytes, placement::needed_bytes(pod.memory));
    pod.killed = pod.killed || pod.memory.killed;
  }
}

Steps RequestBook::tick(const ClusterState& state) {
  const MonoTime now = clock_.mono();
  if (closed_ && now - *closed_ < kBookMinute) return no_steps();
  closed_ = now;
  return close_minute(state, now_s());
}

void RequestBook::close_pod(Watched& pod, RequestWorkload& workload, double now_s) {
  if (pod.seconds > 0) {
    workload.rule.add_cpu(pod.needed_core_s / pod.seconds, pod.seconds, now_s);
    workload.used.cpu_cores += pod.used_core_s / pod.seconds;
    ++workload.reporting;
  }
  workload.used.memory_bytes += pod.memory.bytes;
  pod.needed_core_s = pod.used_core_s = pod.seconds = 0;
  if (pod.memory_since_s == 0 || now_s < pod.memory_since_s) pod.memory_since_s = now_s;
  if (now_s - pod.memory_since_s < kMemorySpan_s && !pod.killed) return;
  workload.rule.add_memory(pod.needed_bytes, now_s, pod.killed);
  pod.needed_bytes = 0;
  pod.killed = false;
  pod.memory_since_s = now_s;
}

Freed RequestBook::freed_by(const ClusterState& state, const std::string& uid, const Watched& pod,
                            const RequestWorkload& workload) const {
  const placement::Resources next{workload.suggested_cores().value_or(pod.request.cpu_cores),
                                  workload.suggested_bytes().value_or(pod.request.memory_bytes)};
  Freed freed{pod.request.cpu_cores - next.cpu_cores, pod.request.memory_bytes - next.memory_bytes, std::nullopt};
  const Pod* placed = state.pod(uid);
  const placement::NodeView* node = placed != nullptr ? state.node_view(placed->node) : nullptr;
  if (node != nullptr && node->allocatable.cpu_cores > 0)
    freed.power_w =
        (share_of(node->allocatable, pod.request) - share_of(node->allocatable, next)) * node->curve.idle_w();
  return freed;
}

Steps RequestBook::close_minute(const ClusterState& state, double now_s) {
  const auto rows = std::make_shared<std::vector<RequestRow>>();
  return in_order({prune(state),
                   [this] {
                     begin_sums();
                     return false;
                   },
                   each_of(pods_, [this, now_s](auto& item) { count_pod(item.second, now_s); }),
                   each_of(workloads_,
                           [this, rows, now_s](auto& item) {
                             auto& [key, workload] = item;
                             if (workload.pods == 0) return;
                             workload.seen_s = now_s;
                             if (workload.rule.look(workload.original, now_s) && keep_)
                               rows->push_back({key, static_cast<std::int64_t>(now_s), packed_workload(workload)});
                           }),
                   [this, rows] {
                     if (!rows->empty()) keep_(std::move(*rows));
                     return false;
                   },
                   each_of(pods_,
                           [this, &state](const auto& item) {
                             RequestWorkload& workload = workloads_.at(item.second.workload);
                             workload.freed.add(freed_by(state, item.first, item.second, workload));
                           }),
                   [this, now_s] {
                     sum_up(now_s);
                     return false;
                   }});
}

Steps RequestBook::prune(const ClusterState& state) {
  return [this, &state, at = std::optional<decltype(pods_)::iterator>()]() mutable {
    if (!at) at = pods_.begin();
    for (std::size_t i = 0; i < kItemsPerStep && *at != pods_.end(); ++i) {
      const Pod* pod = state.pod((*at)->first);
      at = pod == nullptr || pod->node.empty() ? pods_.erase(*at) : std::next(*at);
    }
    return *at != pods_.end();
  };
}

void RequestBook::begin_sums() {
  for (auto& [key, workload] : workloads_) {
    workload.pods = workload.reporting = 0;
    workload.requested = workload.used = {};
    workload.freed = {};
    workload.resizes = {};
    workload.levels = {};
    workload.shrink_allowed = true;
  }
}

void RequestBook::count_pod(Watched& pod, double now_s) {
  RequestWorkload& workload = workloads_.at(pod.workload);
  ++workload.pods;
  workload.shrink_allowed = workload.shrink_allowed && pod.shrink_allowed;
  add(workload.requested, pod.request);
  count_states(workload, pod.resize, pod.provision, pod.set, 1);
  if (pod.resize > kube::PodResize::in_progress) workload.resizes.message = pod.resize_message;
  if (pod.set)
    add(workload.resizes.given_up, {workload.original.cpu_cores - pod.request.cpu_cores,
                                    workload.original.memory_bytes - pod.request.memory_bytes});
  close_pod(pod, workload, now_s);
}

void RequestBook::sum_up(double now_s) {
  std::erase_if(workloads_, [&](const auto& item) {
    return item.second.pods == 0 && std::abs(now_s - item.second.seen_s) > kForget_s;
  });
  totals_ = {};
  for (const auto& [key, workload] : workloads_) {
    if (workload.pods == 0) continue;
    ++totals_.workloads;
    totals_.pods += workload.pods;
    totals_.suggested += differs(workload) ? 1 : 0;
    add(totals_.requested, workload.requested);
    add(totals_.used, workload.used);
    totals_.freed.add(workload.freed);
    add(totals_.resizes, workload.resizes);
  }
}

}  // namespace wattle::controller
