#include "controller/store/usage_report.hpp"

#include <algorithm>
#include <utility>

#include "common/kube/pod.hpp"
#include "common/parse.hpp"
#include "controller/store/store_file.hpp"

namespace wattle::controller {
namespace {

const std::string kUnknown = "(unknown)";
const std::string kNone = "(none)";
const std::string kOtherPods = "(other pods)";

}  // namespace

std::optional<std::string_view> label_of(std::string_view labels, std::string_view key) {
  for (const std::string_view label : parse::split(labels, ',')) {
    const std::size_t equals = label.find('=');
    if (equals != std::string_view::npos && label.substr(0, equals) == key) return label.substr(equals + 1);
  }
  return std::nullopt;
}

Energy UsageReport::missing() const {
  const auto rest = [&](std::int64_t Energy::*part, std::int64_t LedgerSums::*sum) {
    std::int64_t reported = nodes.idle.*part;
    add_up(reported, nodes.unattributed.*part);
    for (const auto& [key, row] : rows) add_up(reported, row.used.*sum);
    return nodes.drawn.*part - reported;
  };
  return {rest(&Energy::energy_uj, &LedgerSums::energy_uj), rest(&Energy::estimated_uj, &LedgerSums::estimated_uj)};
}

std::size_t UsageReporter::row(std::string_view key) {
  const auto found = row_of_.find(key);
  if (found != row_of_.end()) return found->second;
  row_of_.emplace(key, rows_.size());
  rows_.emplace_back();
  return rows_.size() - 1;
}

const std::string& UsageReporter::node_name(std::int64_t node) const {
  const auto found = nodes_.find(node);
  return found == nodes_.end() ? kUnknown : found->second;
}

std::string UsageReporter::key_of(const PodFacts& pod) const {
  switch (query_.by) {
    case ReportBy::name_space:
      return pod.name_space.empty() ? kUnknown : pod.name_space;
    case ReportBy::owner:
      return pod.owner.empty() ? kUnknown : pod.owner;
    case ReportBy::node:
      return pod.node;
    case ReportBy::label:
    case ReportBy::container:
      break;
  }
  if (!pod.described) return kUnknown;
  const auto value = label_of(pod.labels, query_.label);
  return !value ? kNone : value->empty() ? "(empty)" : std::string(*value);
}

// Key of a workload without further facts.
std::string UsageReporter::key_of(std::int64_t kind, std::string_view name) const {
  const auto what = static_cast<WorkloadKind>(kind);
  if (what == WorkloadKind::pod) return kUnknown;
  if (query_.by == ReportBy::label) return kNone;
  const std::string text(to_string(what));
  return query_.by == ReportBy::owner && !name.starts_with('(') ? text + "/" + std::string(name) : "(" + text + ")";
}

const UsageReporter::NamedPod& UsageReporter::named(std::string_view uid) {
  const auto found = pods_.find(uid);
  if (found != pods_.end()) return found->second;
  NamedPod unknown;
  if (query_.pod.empty() || query_.pod == uid) unknown.prefix = kUnknown + "/" + std::string(uid) + "/";
  return pods_.emplace(std::string(uid), std::move(unknown)).first->second;
}

void UsageReporter::take_container(std::string_view name, const LedgerSums& sums) {
  const std::size_t slash = name.rfind('/');
  if (slash == std::string_view::npos) return;
  const std::string_view uid = name.substr(0, slash), id = name.substr(slash + 1);
  const NamedPod& pod = named(uid);
  if (pod.prefix.empty()) return;  // its usage is in its pod's row
  const std::string_view called = kube::container_name(pod.container_ids, id);
  auto known = workloads_.find(name);
  if (known == workloads_.end()) {
    const std::size_t at = row(pod.prefix + std::string(called.empty() ? id : called));
    known = workloads_.emplace(std::string(name), Workload{at, false}).first;
  }
  UsageRow& mine = rows_[known->second.row];
  mine.used.add(sums);
  mine.workloads += std::exchange(known->second.counted, true) ? 0 : 1;
  of_containers_[std::string(uid)].add(sums);
}

// Subtracts the containers' usage from each pod; the rest stays.
void UsageReporter::settle_rests() {
  for (const auto& [uid, used] : of_containers_) {
    const auto pod = workloads_.find(uid);
    if (pod == workloads_.end()) continue;
    LedgerSums& rest = rows_[pod->second.row].used;
    for (std::int64_t LedgerSums::*sum : {&LedgerSums::energy_uj, &LedgerSums::estimated_uj, &LedgerSums::cpu_us})
      rest.*sum -= std::min(rest.*sum, used.*sum);
  }
}

void UsageReporter::take(const PodFacts& pod) {
  if (query_.by == ReportBy::container) {
    NamedPod mine;
    const std::string& name_space = pod.name_space.empty() ? kUnknown : pod.name_space;
    const std::string& name = pod.name.empty() ? pod.uid : pod.name;
    const std::string both = name_space + "/" + name;
    if (query_.pod.empty() || query_.pod == pod.uid || query_.pod == pod.name || query_.pod == both)
      mine = {both + "/", pod.container_ids};
    pods_[pod.uid] = std::move(mine);
    return;
  }
  const std::string key = key_of(pod);
  const bool placed = pod.placed_s >= from_s_ && pod.placed_s > 0;
  if (query_.by != ReportBy::node) workloads_.emplace(pod.uid, Workload{row(key), false});
  if (placed) ++rows_[row(key)].placements;
}

void UsageReporter::take(std::int64_t node, std::int64_t kind, std::string_view name, const LedgerSums& sums) {
  if (name.empty()) return;
  const bool by_container = query_.by == ReportBy::container;
  if (kind == kContainerRows) {
    if (by_container) take_container(name, sums);
    return;
  }
  auto known = workloads_.end();
  if (by_container && kind == static_cast<std::int64_t>(WorkloadKind::pod)) {
    known = workloads_.find(name);
    if (known == workloads_.end()) {
      const std::string& prefix = named(name).prefix;
      const std::size_t at = row(prefix.empty() ? kOtherPods : prefix + "(rest)");
      known = workloads_.emplace(std::string(name), Workload{at, false}).first;
    }
  } else if (query_.by == ReportBy::node) {
    std::string there = std::to_string(node) + " " + std::string(name);
    known = workloads_.try_emplace(std::move(there), Workload{row(node_name(node)), false}).first;
  } else {
    known = workloads_.find(name);
    if (known == workloads_.end())
      known = workloads_.emplace(std::string(name), Workload{row(key_of(kind, name)), false}).first;
  }
  UsageRow& mine = rows_[known->second.row];
  mine.used.add(sums);
  // Waiting is measured for all containers of a pod together, so it belongs to none of them.
  if (by_container && kind == static_cast<std::int64_t>(WorkloadKind::pod))
    mine.used.wait_us = mine.used.pressure_us = 0;
  mine.workloads += std::exchange(known->second.counted, true) ? 0 : 1;
}

void UsageReporter::take(std::int64_t node, const NodeUse& use) {
  report_.nodes.add(use);
  if (query_.by != ReportBy::node) return;
  row(node_name(node));
  report_.by_node[node_name(node)].add(use);
}

UsageReport UsageReporter::report() && {
  settle_rests();
  for (const auto& [key, at] : row_of_) {
    const UsageRow& mine = rows_[at];
    const bool nothing = mine.used.energy_uj == 0 && mine.used.estimated_uj == 0 && mine.used.cpu_us == 0;
    if (query_.by == ReportBy::container && nothing) continue;
    const bool drew = report_.by_node.contains(key);
    if (mine.workloads > 0 || mine.placements > 0 || drew) report_.rows.emplace(key, mine);
  }
  return std::move(report_);
}

Result<UsageReport> StoreFile::report(const UsageQuery& query) {
  std::int64_t recorded_s = usage_->from_s();
  const std::vector<std::int64_t> waiting = ledger_.all();
  if (recorded_s == 0)
    for (const std::int64_t node : waiting)
      recorded_s = std::min(recorded_s == 0 ? ledger_.of(node).since_s : recorded_s, ledger_.of(node).since_s);
  if (recorded_s == 0) return UsageReport{};
  const std::int64_t from_s = std::max(usage_->slot_of(query.since_s), recorded_s);
  const std::int64_t slot_s = usage_->slot_of(from_s);
  std::unordered_map<std::int64_t, std::string> names;
  for (const auto& [name, id] : node_ids_) names[id] = name;
  UsageReporter reporter(query, from_s, std::move(names));
  WATTLE_CHECK(usage_->each_pod([&](const PodFacts& pod) { reporter.take(pod); }));
  WATTLE_CHECK(usage_->each_workload(slot_s, [&](std::int64_t node, std::int64_t kind, std::string_view name,
                                                 const LedgerSums& sums) { reporter.take(node, kind, name, sums); }));
  WATTLE_CHECK(usage_->each_node(slot_s, [&](std::int64_t node, const NodeUse& use) { reporter.take(node, use); }));
  for (const std::int64_t node : waiting) {
    const WaitingLedger& mine = ledger_.of(node);
    if (usage_->slot_for(mine.since_s) < slot_s) continue;
    reporter.take(node, mine.use);
    for (const auto& [key, sums] : mine.rows) reporter.take(node, key.first, key.second, sums);
  }
  UsageReport report = std::move(reporter).report();
  report.from_s = from_s;
  report.cut = recorded_s > query.since_s;
  return report;
}

}  // namespace wattle::controller
