#include "controller/decisions/settle.hpp"

#include <algorithm>

#include "common/kube/pod.hpp"
#include "common/psi.hpp"

namespace wattle::controller {
namespace {

// Telemetry may be this late, for example if it is repeated after a lost connection.
constexpr Duration kGrace = std::chrono::seconds(10);

double percent(std::optional<double> part, double whole) {
  return part && whole > 0 ? std::clamp(100 * *part / whole, 0.0, 100.0) : 0.0;
}

}  // namespace

WorkloadUses workload_uses(const Record& record) {
  WorkloadUses uses;
  for (const WorkloadValues& workload : record.workloads) {
    WorkloadUse& use = uses[workload.name];
    // A pod's use includes the use of pods in a cluster that runs inside it.
    if (workload.cpu_usage_us)
      use.cpu_us = use.cpu_us.value_or(0) + *workload.cpu_usage_us + workload.nested_cpu_us.value_or(0);
    use.oom_kills += workload.memory_oom_kills.value_or(0);
  }
  return uses;
}

void WindowSums::add(const Record& record, const WorkloadUses& uses, const std::string& pod_uid) {
  const double interval_s = static_cast<double>(record.interval_ns) * 1e-9;
  if (!(interval_s > 0)) return;
  if (record.part == 0) add_node(record, interval_s);
  for (const WorkloadValues& workload : record.workloads)
    throttled_core_s += static_cast<double>(workload.cpu_throttled_us.value_or(0)) * 1e-6;
  const auto found = uses.find(pod_uid);
  const WorkloadUse use = found == uses.end() ? WorkloadUse{} : found->second;
  const bool listed = use.cpu_us.has_value();
  pod_core_s += static_cast<double>(use.cpu_us.value_or(0)) * 1e-6;
  pod_oom_kills += std::min(use.oom_kills, ~std::uint64_t{0} - pod_oom_kills);
  // A partial record that omits the pod means no usage, if the pod was listed before.
  const bool counted = record.partial && pod_listed;
  if (counted ? record.part == 0 : listed) pod_s += interval_s;
  pod_listed = pod_listed || listed;
}

void WindowSums::add_node(const Record& record, double interval_s) {
  ++records;
  const bool gap = std::any_of(record.node.domains.begin(), record.node.domains.end(),
                               [](const EnergyDomain& domain) { return domain.gap; });
  if (record.node.energy_uj && !gap) {
    power_s += interval_s;
    energy_j += static_cast<double>(*record.node.energy_uj) * 1e-6;
  }
  if (record.node.cpu_used_cores) {
    used_s += interval_s;
    used_core_s += *record.node.cpu_used_cores * interval_s;
  }
  if (record.node.pressure.cpu_some_ratio) {
    pressure_s += interval_s;
    stalled_s += *record.node.pressure.cpu_some_ratio * interval_s;
  }
}

std::optional<double> waited_ratio(const WindowSums& sums) {
  if (!(sums.pressure_s > 0)) return std::nullopt;
  return waiting_share(sums.stalled_s / sums.pressure_s, sums.throttled_core_s / sums.pressure_s,
                       sums.used_s > 0 ? sums.used_core_s / sums.used_s : 0);
}

std::optional<double> marginal_w(const WindowSums& sums, double cores, const placement::PowerCurve& curve) {
  if (!(sums.power_s > 0) || !(sums.used_s > 0) || !(sums.pod_s > 0) || !(cores > 0)) return std::nullopt;
  const double with = sums.used_core_s / sums.used_s / cores;
  const double pod = sums.pod_core_s / sums.pod_s / cores;
  const double without = std::clamp(with - pod, 0.0, 1.0);
  return sums.energy_j / sums.power_s - curve.watts(without);
}

placement::WorkerAfter worker_after(const placement::NodeView& node) {
  const NodeValues& values = node.values;
  placement::WorkerAfter after;
  after.cpu_pct = percent(placement::cpu_utilisation(node), 1);
  if (values.memory_used_bytes && values.memory_total_bytes)
    after.memory_pct =
        percent(static_cast<double>(*values.memory_used_bytes), static_cast<double>(*values.memory_total_bytes));
  after.net_rx_pct = percent(values.net_rx_bytes_per_s, node.link_bytes_per_s);
  after.net_tx_pct = percent(values.net_tx_bytes_per_s, node.link_bytes_per_s);
  after.disk_read_pct = percent(values.disk_read_bytes_per_s, node.disk_bytes_per_s);
  after.disk_write_pct = percent(values.disk_write_bytes_per_s, node.disk_bytes_per_s);
  return after;
}

void SettleWindow::add(const Record& record, const WorkloadUses& uses, MonoTime end, bool ahead) {
  const MonoTime begin = end - Duration(record.interval_ns);
  if (begin < placed_at_ || gone_ || covered_) return;
  const bool within = begin < placed_at_ + length_;
  if (!within && ahead) return;  // the records in between cover the window better
  sums_.add(record, uses, pod_.uid);
  if (sums_.pod_oom_kills > 0) pod_failed(to_string(kube::PodFailure::oom_kill));
  covered_ = !ahead && end >= placed_at_ + length_ && record.part + 1 >= record.parts;
}

bool SettleWindow::over(MonoTime now) const {
  return covered_ || final_ || now >= placed_at_ + length_ + (gone_ ? Duration{0} : kGrace);
}

std::optional<placement::RawOutcome> SettleWindow::finish(const placement::ClusterView& view) const {
  if ((sums_.records == 0 && failure_.empty()) || row_ >= view.nodes.size()) return std::nullopt;
  placement::RawOutcome outcome = outcome_;
  outcome.failed = !failure_.empty();
  const placement::NodeView& node = view.nodes[row_];
  // Nodes that joined after the placement have no "before".
  const std::size_t workers = std::min<std::size_t>(outcome.before.workers, view.nodes.size());
  std::vector<placement::WorkerAfter> after;
  after.reserve(workers);
  for (std::size_t i = 0; i < workers; ++i) after.push_back(worker_after(view.nodes[i]));
  outcome.deviations_pct = placement::deviations_pct(after);
  if (const auto latency_ms = placement::latency_for(node, pod_)) outcome.latency_ms = latency_ms;
  const double cores = node.values.cpu_cores.value_or(node.allocatable.cpu_cores);
  outcome.marginal_w = marginal_w(sums_, cores, node.curve);
  if (sums_.power_s > 0) outcome.mean_power_w = sums_.energy_j / sums_.power_s;
  outcome.cpu_some_ratio = waited_ratio(sums_);
  return outcome;
}

}  // namespace wattle::controller
