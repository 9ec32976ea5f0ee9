#include "controller/ingest/validate.hpp"

#include <algorithm>
#include <string>

namespace wattle::controller {
namespace {

constexpr std::int64_t kMaxIntervalNs = 3'600'000'000'000;
constexpr std::int64_t kMaxMonoNs = std::int64_t{1} << 60;  // 36 years of uptime
constexpr double kRatioSlack = 1.05;
constexpr double kCoresSlack = 1.5;  // a tick of /proc/stat is 10 ms: much of a short interval
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 56;
constexpr std::size_t kMaxName = 512;

tl::unexpected<Error> refuse(const std::string& field, const std::string& what) {
  return fail(Errc::out_of_range, field, what, "the agent on this node measures wrongly: see `wattle doctor`");
}

Status not_negative(const std::string& field, const std::optional<double>& value) {
  if (value && *value < 0) return refuse(field, "is negative: " + std::to_string(*value));
  return {};
}

Status ratio(const std::string& field, std::optional<double>& value) {
  WATTLE_CHECK(not_negative(field, value));
  if (value && *value > kRatioSlack) return refuse(field, "is more than 1: " + std::to_string(*value));
  if (value) value = std::min(*value, 1.0);
  return {};
}

Status bytes(const std::string& field, const std::optional<std::uint64_t>& value) {
  if (value && *value > kMaxBytes) return refuse(field, "is beyond any machine: " + std::to_string(*value) + " bytes");
  return {};
}

Status pressure(const std::string& field, Pressure& pressure) {
  WATTLE_CHECK(ratio(field + ".cpu_some_ratio", pressure.cpu_some_ratio));
  WATTLE_CHECK(ratio(field + ".cpu_full_ratio", pressure.cpu_full_ratio));
  WATTLE_CHECK(ratio(field + ".memory_some_ratio", pressure.memory_some_ratio));
  WATTLE_CHECK(ratio(field + ".memory_full_ratio", pressure.memory_full_ratio));
  WATTLE_CHECK(ratio(field + ".io_some_ratio", pressure.io_some_ratio));
  return ratio(field + ".io_full_ratio", pressure.io_full_ratio);
}

// An interval of nothing has no power: then the bound is that of an hour.
Status energy(const std::string& field, const std::optional<std::uint64_t>& energy_uj, std::int64_t interval_ns) {
  if (!energy_uj) return {};
  const double interval_s = static_cast<double>(interval_ns > 0 ? interval_ns : kMaxIntervalNs) * 1e-9;
  const double power_w = static_cast<double>(*energy_uj) * 1e-6 / interval_s;
  if (power_w > kMaxNodeW) return refuse(field, "is " + std::to_string(power_w) + " W over the interval");
  return {};
}

Status cpu(NodeValues& node) {
  WATTLE_CHECK(not_negative("record.node.cpu_used_cores", node.cpu_used_cores));
  if (node.cpu_cores && (*node.cpu_cores <= 0 || *node.cpu_cores > kMaxCores))
    return refuse("record.node.cpu_cores", "is " + std::to_string(*node.cpu_cores));
  if (!node.cpu_used_cores) return {};
  const double most = node.cpu_cores.value_or(kMaxCores);
  if (*node.cpu_used_cores > most * kCoresSlack)
    return refuse("record.node.cpu_used_cores",
                  "is " + std::to_string(*node.cpu_used_cores) + " of " + std::to_string(most) + " cores");
  node.cpu_used_cores = std::min(*node.cpu_used_cores, most);
  return {};
}

Status check_node(NodeValues& node, std::int64_t interval_ns) {
  WATTLE_CHECK(cpu(node));
  WATTLE_CHECK(bytes("record.node.memory_used_bytes", node.memory_used_bytes));
  WATTLE_CHECK(bytes("record.node.memory_total_bytes", node.memory_total_bytes));
  if (node.memory_used_bytes && node.memory_total_bytes && *node.memory_used_bytes > *node.memory_total_bytes)
    return refuse("record.node.memory_used_bytes", "is more than memory_total_bytes");
  WATTLE_CHECK(not_negative("record.node.net_rx_bytes_per_s", node.net_rx_bytes_per_s));
  WATTLE_CHECK(not_negative("record.node.net_tx_bytes_per_s", node.net_tx_bytes_per_s));
  WATTLE_CHECK(not_negative("record.node.disk_read_bytes_per_s", node.disk_read_bytes_per_s));
  WATTLE_CHECK(not_negative("record.node.disk_write_bytes_per_s", node.disk_write_bytes_per_s));
  WATTLE_CHECK(ratio("record.node.disk_used_ratio", node.disk_used_ratio));
  WATTLE_CHECK(pressure("record.node.pressure", node.pressure));
  WATTLE_CHECK(energy("record.node.energy_uj", node.energy_uj, interval_ns));
  WATTLE_CHECK(energy("record.node.idle_energy_uj", node.idle_energy_uj, interval_ns));
  return energy("record.node.unattributed_energy_uj", node.unattributed_energy_uj, interval_ns);
}

Status check_workload(WorkloadValues& workload, double cores, std::int64_t interval_ns) {
  const std::string field = "record.workloads[" + workload.name.substr(0, 64) + "]";
  if (workload.name.empty() || workload.name.size() > kMaxName) return refuse(field, "has no name, or one too long");
  WATTLE_CHECK(bytes(field + ".memory_bytes", workload.memory_bytes));
  WATTLE_CHECK(pressure(field + ".pressure", workload.pressure));
  WATTLE_CHECK(energy(field + ".energy_uj", workload.energy_uj, interval_ns));
  if (workload.cpu_usage_us && interval_ns > 0) {
    const double used = static_cast<double>(*workload.cpu_usage_us) * 1e3 / static_cast<double>(interval_ns);
    if (used > 2 * cores) return refuse(field + ".cpu_usage_us", "is " + std::to_string(used) + " cores");
  }
  return {};
}

Status check_probe(ProbeValues& probe) {
  const std::string field = "record.probes[" + probe.target.substr(0, 64) + "]";
  if (probe.target.empty() || probe.target.size() > kMaxName) return refuse(field, "has no target, or one too long");
  WATTLE_CHECK(not_negative(field + ".p50_ms", probe.p50_ms));
  WATTLE_CHECK(not_negative(field + ".p95_ms", probe.p95_ms));
  WATTLE_CHECK(not_negative(field + ".jitter_ms", probe.jitter_ms));
  std::optional<double> loss = probe.loss_ratio;
  WATTLE_CHECK(ratio(field + ".loss_ratio", loss));
  probe.loss_ratio = *loss;
  return {};
}

}  // namespace

Status validate(Record& record) {
  if (record.seq == 0) return refuse("record.seq", "is 0; the first is 1");
  if (record.mono_ns < 0 || record.mono_ns > kMaxMonoNs)
    return refuse("record.mono_ns", "is " + std::to_string(record.mono_ns));
  if (record.interval_ns < 0 || record.interval_ns > kMaxIntervalNs)
    return refuse("record.interval_ns", "is " + std::to_string(record.interval_ns));
  WATTLE_CHECK(check_node(record.node, record.interval_ns));
  const double cores = record.node.cpu_cores.value_or(kMaxCores);
  for (WorkloadValues& workload : record.workloads) WATTLE_CHECK(check_workload(workload, cores, record.interval_ns));
  for (ProbeValues& probe : record.probes) WATTLE_CHECK(check_probe(probe));
  return {};
}

}  // namespace wattle::controller
