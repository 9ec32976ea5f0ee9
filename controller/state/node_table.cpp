#include "controller/state/node_table.hpp"

#include <algorithm>
#include <iterator>
#include <unordered_set>
#include <utility>

#include "placement/worth/features.hpp"

namespace wattle::controller {
namespace {

constexpr std::uint64_t kMissedRecords = 3;  // a workload that is missing in this many records has ended
constexpr std::size_t kMostAhead = 4096;     // per node: more than an hour of outage

std::optional<double> mean_w(std::optional<std::uint64_t> energy_uj, std::int64_t interval_ns) {
  if (!energy_uj || interval_ns <= 0) return std::nullopt;
  return static_cast<double>(*energy_uj) * 1e3 / static_cast<double>(interval_ns);
}

bool knows(const Workload* pod, const std::string& id) {
  return pod != nullptr && std::any_of(pod->containers.begin(), pod->containers.end(),
                                       [&](const ContainerSum& each) { return each.id == id; });
}

void add_joules(std::optional<double>& sum_j, std::optional<std::uint64_t> energy_uj) {
  if (energy_uj) sum_j = sum_j.value_or(0.0) + static_cast<double>(*energy_uj) * 1e-6;
}

// Saturates at the maximum.
void add(std::optional<std::uint64_t>& sum, const std::optional<std::uint64_t>& more) {
  if (more) sum = sum.value_or(0) + std::min(*more, ~std::uint64_t{0} - sum.value_or(0));
}

// Merges root cgroups of one pod into one workload; a pod may have one per container.
void merge(WorkloadValues& into, const WorkloadValues& more) {
  into.ended = into.ended && more.ended;
  add(into.cpu_usage_us, more.cpu_usage_us);
  add(into.nested_cpu_us, more.nested_cpu_us);
  add(into.energy_uj, more.energy_uj);
  add(into.memory_bytes, more.memory_bytes);
  add(into.io_read_bytes, more.io_read_bytes);
  add(into.io_write_bytes, more.io_write_bytes);
  add(into.pids, more.pids);
  into.containers.insert(into.containers.end(), more.containers.begin(), more.containers.end());
}

// Beyond the bound, drops the containers that were idle for longest; their usage counts in the pod's row "(rest)".
void add_containers(Workload& pod, const WorkloadValues& values, std::uint64_t interval) {
  if (values.kind != WorkloadKind::pod) return;
  for (const ContainerValues& reported : values.containers) {
    auto known = std::find_if(pod.containers.begin(), pod.containers.end(),
                              [&](const ContainerSum& each) { return each.id == reported.id; });
    if (known == pod.containers.end()) {
      if (pod.containers.size() >= kMaxContainers)
        pod.containers.erase(std::min_element(pod.containers.begin(), pod.containers.end(),
                                              [](const auto& a, const auto& b) { return a.listed < b.listed; }));
      known = pod.containers.insert(pod.containers.end(), ContainerSum{reported.id, 0, 0});
    }
    known->energy_uj += reported.energy_uj.value_or(0);
    known->listed = interval;
  }
}

// Adds containers with too many new ids to their pod's row "(rest)", because each would need a permanent row in the
// ledger.
void fold_containers(Node& node, Record& record, MonoTime now) {
  for (WorkloadValues& values : record.workloads) {
    if (values.containers.empty()) continue;
    const auto pod = node.workloads.find(values.name);
    const Workload* known = pod == node.workloads.end() ? nullptr : &pod->second;
    std::erase_if(values.containers, [&](const ContainerValues& container) {
      return !knows(known, container.id) && !node.new_containers.take(now);
    });
  }
}

void apply_node(Node& node, placement::NodeView& seen, const Record& record) {
  node.values = record.node;
  node.probes = record.probes;
  const bool gap = std::any_of(record.node.domains.begin(), record.node.domains.end(),
                               [](const EnergyDomain& domain) { return domain.gap; });
  node.power_w = gap ? std::nullopt : mean_w(record.node.energy_uj, record.interval_ns);
  node.idle_w = mean_w(record.node.idle_energy_uj, record.interval_ns);
  node.unattributed_w = mean_w(record.node.unattributed_energy_uj, record.interval_ns);

  seen.values = record.node;
  seen.throttled_cores = 0;  // summed from the workloads below
  seen.power_w = node.power_w;
  // The observed traffic is a lower bound of the capacity.
  const auto at_least = [](double& capacity, std::optional<double> a, std::optional<double> b) {
    capacity = std::max({capacity, a.value_or(0), b.value_or(0)});
  };
  at_least(seen.link_bytes_per_s, record.node.net_rx_bytes_per_s, record.node.net_tx_bytes_per_s);
  at_least(seen.disk_bytes_per_s, record.node.disk_read_bytes_per_s, record.node.disk_write_bytes_per_s);
  seen.latency_ms.clear();
  for (const ProbeValues& probe : record.probes)
    if (probe.p50_ms) seen.latency_ms[probe.target] = *probe.p50_ms;
  const auto utilisation = placement::cpu_utilisation(seen);
  if (utilisation && node.power_w) seen.curve.observe(*utilisation, *node.power_w);
}

// Marks a workload that no part of the interval listed. Returns false if it has been missing for too long.
bool finish_interval(const Node& node, const Record& record, Workload& workload) {
  if (workload.listed == node.samples) return true;
  if (!record.partial || workload.missing) {
    workload.missing = true;
    workload.cpu_cores.reset();
    workload.nested_cores = 0;
    workload.power_w.reset();
    return node.interval_seq >= workload.last_seq && node.interval_seq - workload.last_seq < kMissedRecords;
  }
  workload.last_seq = node.interval_seq;
  workload.values = at_rest(std::move(workload.values));
  if (workload.cpu_cores) workload.cpu_cores = 0;
  workload.nested_cores = 0;
  if (workload.power_w) workload.power_w = 0;
  return true;
}

}  // namespace

Turn turn_of(Node& node, const Record& record, bool ahead, bool& again) {
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

void add_late(Node& node, const Record& record) {
  if (record.part == 0) add_joules(node.energy_j, record.node.energy_uj);
  for (const WorkloadValues& values : record.workloads) {
    const auto known = node.workloads.find(values.name);
    if (known == node.workloads.end())
      node.new_names.note(values.name);
    else
      add_joules(known->second.energy_j, values.energy_uj);
    if (known != node.workloads.end()) add_containers(known->second, values, node.samples);
  }
}

std::size_t fold(Node& node, Record& record, MonoTime now) {
  fold_containers(node, record, now);
  std::size_t room = node.new_names.room(now);
  std::size_t places = kMaxWorkloads - std::min(kMaxWorkloads, node.workloads.size());
  const std::size_t listed = record.workloads.size();
  if (listed <= room && listed < places) return 0;
  if (!node.workloads.contains(std::string(kOthers))) places -= std::min<std::size_t>(places, 1);  // the row of kOthers
  std::unordered_set<std::string_view> taken;
  const auto stays = [&](const WorkloadValues& values) {
    if (values.name == kOthers || node.workloads.contains(values.name) || taken.contains(values.name)) return true;
    const bool known = node.new_names.knows(values.name);
    if (places == 0 || (!known && room == 0)) return false;
    --places;
    room -= known ? 0 : 1;
    taken.insert(values.name);
    return true;
  };
  const auto first = std::stable_partition(record.workloads.begin(), record.workloads.end(), stays);
  const auto folded = static_cast<std::size_t>(record.workloads.end() - first);
  if (folded == 0) return 0;
  WorkloadValues others;
  others.name = kOthers;
  for (auto each = first; each != record.workloads.end(); ++each) merge(others, *each);
  others.containers.clear();
  record.workloads.erase(first, record.workloads.end());
  record.workloads.push_back(std::move(others));
  return folded;
}

void begin_interval(Node& node, const Record& record) {
  const std::uint64_t first_seq = record.seq - std::min(record.part, record.seq);
  // Another incarnation may mean another boot, with a restarted clock.
  const bool reborn = std::exchange(node.record_incarnation, record.incarnation) != record.incarnation;
  if (reborn) node.clock.reset();
  if (std::exchange(node.interval_seq, first_seq) != first_seq || reborn) {
    ++node.samples;
    node.parts_seen = 0;
  }
  ++node.parts_seen;
  node.interval_ns = record.interval_ns;
}

void apply_values(Node& node, placement::NodeView& seen, const Record& record, MonoTime received, bool sums) {
  if (record.part == 0) apply_node(node, seen, record);
  double throttled_us = 0;
  auto next = node.workloads.begin();  // an agent lists its workloads in nearly the same order each time
  for (const WorkloadValues& reported : record.workloads) {
    const bool known = next != node.workloads.end() && next->first == reported.name;
    const auto [entry, fresh] = known ? std::pair(next, false) : node.workloads.try_emplace(reported.name);
    Workload& workload = entry->second;
    next = std::next(entry);
    const bool another_root = workload.listed == node.samples;  // several entries with one name in one record
    if (another_root)
      merge(workload.values, reported);
    else
      workload.values = reported;
    const WorkloadValues& values = workload.values;
    if (fresh) {
      workload.first_seen = received;
      node.new_names.note(reported.name);
    }
    workload.last_seq = node.interval_seq;
    workload.listed = node.samples;
    workload.missing = false;
    workload.cpu_cores.reset();
    workload.nested_cores = 0;
    if (values.cpu_usage_us && record.interval_ns > 0) {
      const auto cores = [&](std::uint64_t us) {
        return static_cast<double>(us) * 1e3 / static_cast<double>(record.interval_ns);
      };
      workload.cpu_cores = cores(*values.cpu_usage_us);
      workload.nested_cores = cores(values.nested_cpu_us.value_or(0));
    }
    workload.power_w = mean_w(values.energy_uj, record.interval_ns);
    if (sums) {
      add_joules(workload.energy_j, reported.energy_uj);
      add_containers(workload, reported, node.samples);
    }
    throttled_us += static_cast<double>(reported.cpu_throttled_us.value_or(0));
  }
  if (throttled_us > 0 && record.interval_ns > 0)
    seen.throttled_cores += throttled_us * 1e3 / static_cast<double>(record.interval_ns);
}

void end_workloads(Node& node, const Record& record, bool sums) {
  if (sums && record.part == 0) add_joules(node.energy_j, record.node.energy_uj);
  for (const WorkloadValues& reported : record.workloads) {
    if (!reported.ended) continue;
    const auto known = node.workloads.find(reported.name);
    if (known == node.workloads.end() || !known->second.values.ended) continue;  // another root of its name still runs
    node.workloads.erase(known);
    if (sums) node.new_names.note(reported.name);
  }
  if (node.parts_seen != record.parts) return;
  for (auto each = node.workloads.begin(); each != node.workloads.end();)
    each = finish_interval(node, record, each->second) ? std::next(each) : node.workloads.erase(each);
}

}  // namespace wattle::controller
