#include "controller/store/ledger_buffer.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "common/psi.hpp"

namespace wattle::controller {
namespace {

constexpr std::size_t kMostRows = 200'000;
constexpr std::size_t kShareOfNodes = 64;  // share of the nodes per transaction, to keep transactions short
constexpr std::size_t kAtLeast = 8;

}  // namespace

void LedgerSums::add(const LedgerSums& more) {
  add_up(records, more.records);
  add_up(energy_uj, more.energy_uj);
  add_up(estimated_uj, more.estimated_uj);
  add_up(cpu_us, more.cpu_us);
  add_up(wait_us, more.wait_us);
  add_up(pressure_us, more.pressure_us);
}

void Energy::add(const Energy& more) {
  add_up(energy_uj, more.energy_uj);
  add_up(estimated_uj, more.estimated_uj);
}

void NodeUse::add(const NodeUse& more) {
  drawn.add(more.drawn);
  idle.add(more.idle);
  unattributed.add(more.unattributed);
}

bool counts(const Record& record) { return record.interval_ns > 0; }

void LedgerBuffer::add(std::int64_t node, std::int64_t raw_id, const Record& record, std::int64_t now_s) {
  if (!counts(record)) return;
  const bool estimated = record.node.energy_source == EnergySource::estimated;
  const auto energy = [&](const std::optional<std::uint64_t>& uj) {
    const auto value = static_cast<std::int64_t>(uj.value_or(0));
    return estimated ? Energy{0, value} : Energy{value, 0};
  };
  const auto [found, fresh] = waiting_.try_emplace(node);
  WaitingLedger& waiting = found->second;
  if (fresh) {
    waiting.first_raw = raw_id;
    waiting.since_s = now_s;
    node_by_raw_id_.emplace(raw_id, node);
  }
  waiting.last_raw = raw_id;
  waiting.last_s = now_s;
  waiting.use.add(
      {energy(record.node.energy_uj), energy(record.node.idle_energy_uj), energy(record.node.unattributed_energy_uj)});
  const std::int64_t interval_us = record.interval_ns / 1000;
  // An agent lists its workloads in nearly the same order each time.
  auto next = waiting.rows.begin(), next_container = next;
  for (const WorkloadValues& workload : record.workloads) {
    const auto [energy_uj, estimated_uj] = energy(workload.energy_uj);
    const auto cpu_us = static_cast<std::int64_t>(workload.cpu_usage_us.value_or(0));
    const auto& waits_ratio = workload.pressure.cpu_some_ratio;
    const auto over_interval = [&](std::optional<std::uint64_t> time_us) {
      return interval_us > 0 ? static_cast<double>(time_us.value_or(0)) / static_cast<double>(interval_us) : 0.0;
    };
    const double waited_ratio = waiting_share(waits_ratio.value_or(0), over_interval(workload.cpu_throttled_us),
                                              over_interval(workload.cpu_usage_us));
    const auto wait_us = std::llround(waited_ratio * static_cast<double>(interval_us));
    if (energy_uj == 0 && estimated_uj == 0 && cpu_us == 0 && wait_us == 0) continue;
    add_row(waiting, next, {static_cast<std::int64_t>(workload.kind), workload.name},
            {1, energy_uj, estimated_uj, cpu_us, wait_us, waits_ratio ? interval_us : 0});
    if (workload.kind != WorkloadKind::pod) continue;
    for (const ContainerValues& container : workload.containers) {
      const std::string name = workload.name + "/" + container.id;
      const auto [own_uj, own_estimated_uj] = energy(container.energy_uj);
      add_row(waiting, next_container, {kContainerRows, name},
              {1, own_uj, own_estimated_uj, static_cast<std::int64_t>(container.cpu_usage_us), 0, 0});
    }
  }
}

void LedgerBuffer::add_row(WaitingLedger& waiting, LedgerRows::iterator& next, const LedgerOrder::Key& key,
                           const LedgerSums& sums) {
  if (next == waiting.rows.end() || LedgerOrder::Key(next->first) != key) next = waiting.rows.find(key);
  if (next == waiting.rows.end()) {
    next = waiting.rows.emplace(key, LedgerSums{}).first;
    ++rows_;
  }
  next->second.add(sums);
  ++next;
}

std::vector<std::int64_t> LedgerBuffer::due(std::int64_t now_s, std::int64_t every_s, std::int64_t below) const {
  std::vector<std::int64_t> nodes;
  const std::size_t most = kAtLeast + waiting_.size() / kShareOfNodes;
  std::size_t rows = rows_;
  for (const auto& [first_raw, node] : node_by_raw_id_) {
    const WaitingLedger& waiting = waiting_.at(node);
    const std::int64_t waits_s = now_s - waiting.since_s;
    const bool aged = nodes.size() < most && (waits_s >= every_s || waits_s < 0);  // the wall clock may be set back
    if (first_raw >= below && rows <= kMostRows && !aged) break;
    rows -= waiting.rows.size();
    nodes.push_back(node);
  }
  return nodes;
}

std::vector<std::int64_t> LedgerBuffer::all() const {
  std::vector<std::int64_t> nodes;
  for (const auto& [node, waiting] : waiting_) nodes.push_back(node);
  return nodes;
}

void LedgerBuffer::forget(std::int64_t node) {
  const auto found = waiting_.find(node);
  node_by_raw_id_.erase(found->second.first_raw);
  rows_ -= found->second.rows.size();
  waiting_.erase(found);
}

std::int64_t LedgerBuffer::lowest_without(const std::vector<std::int64_t>& written, std::int64_t otherwise) const {
  for (const auto& [first_raw, node] : node_by_raw_id_)
    if (std::find(written.begin(), written.end(), node) == written.end()) return first_raw;
  return otherwise;
}

}  // namespace wattle::controller
