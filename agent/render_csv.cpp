#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>

#include "agent/render.hpp"
#include "common/printable.hpp"

namespace wattle::agent {

namespace {
// Columns in the order of the header. Readers may rely on it: new ones are added at the end, and
// docs/reference/agent.md lists them all.
constexpr std::array kColumns = std::to_array<std::string_view>({"node_name",
                                                                 "seq",
                                                                 "wall_ns",
                                                                 "mono_ns",
                                                                 "interval_ns",
                                                                 "scope",
                                                                 "kind",
                                                                 "name",
                                                                 "ended",
                                                                 "cpu_used_cores",
                                                                 "cpu_cores",
                                                                 "cpu_usage_us",
                                                                 "cpu_usage_total_us",
                                                                 "memory_bytes",
                                                                 "memory_total_bytes",
                                                                 "net_rx_bytes_per_s",
                                                                 "net_tx_bytes_per_s",
                                                                 "disk_read_bytes_per_s",
                                                                 "disk_write_bytes_per_s",
                                                                 "disk_used_ratio",
                                                                 "tcp_established",
                                                                 "io_read_bytes",
                                                                 "io_write_bytes",
                                                                 "pids",
                                                                 "cpu_some_ratio",
                                                                 "memory_some_ratio",
                                                                 "io_some_ratio",
                                                                 "energy_source",
                                                                 "energy_uj",
                                                                 "idle_energy_uj",
                                                                 "unattributed_energy_uj",
                                                                 "p50_ms",
                                                                 "p95_ms",
                                                                 "jitter_ms",
                                                                 "loss_ratio",
                                                                 "cpu_full_ratio",
                                                                 "memory_full_ratio",
                                                                 "io_full_ratio",
                                                                 "energy_gap",
                                                                 "power_w",
                                                                 "on_cpu_us",
                                                                 "cpu_cycles",
                                                                 "run_queue_us",
                                                                 "run_queue_waits",
                                                                 "tcp_srtt_us",
                                                                 "tcp_srtt_samples",
                                                                 "block_io_us",
                                                                 "block_ios",
                                                                 "cpu_throttled_us",
                                                                 "memory_anon_bytes",
                                                                 "memory_file_bytes",
                                                                 "memory_high_events",
                                                                 "memory_oom_kills",
                                                                 "cgroup_id",
                                                                 "path",
                                                                 "sent",
                                                                 "dns_failures",
                                                                 "refusals",
                                                                 "timeouts",
                                                                 "unreachables",
                                                                 "bad_answers",
                                                                 "dram_read_bytes_per_s",
                                                                 "dram_write_bytes_per_s",
                                                                 "frequency_hz",
                                                                 "package_c_state_ratios",
                                                                 "incarnation",
                                                                 "partial"});

std::string csv_text(std::string_view text) {
  if (text.find_first_of(",\"\n\r") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

template <class T>
std::string number_text(T number) {
  std::array<char, 32> digits;
  return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr};
}

class Row {
 public:
  Row(const std::string& node, const Record& record, std::string_view scope) {
    text("node_name", node);
    number("seq", record.seq);
    number("wall_ns", record.wall_ns);
    number("mono_ns", record.mono_ns);
    number("interval_ns", record.interval_ns);
    number("incarnation", record.incarnation);
    text("scope", scope);
  }
  void text(std::string_view column, std::string_view value) { cell(column) = csv_text(printable(value)); }
  void flag(std::string_view column, bool value) { cell(column) = value ? "true" : "false"; }
  template <class T>
  void number(std::string_view column, const T& value) {
    cell(column) = number_text(value);
  }
  template <class T>
  void number(std::string_view column, const std::optional<T>& value) {
    if (value) cell(column) = number_text(*value);
  }
  void pressure(const Pressure& p) {
    number("cpu_some_ratio", p.cpu_some_ratio);
    number("cpu_full_ratio", p.cpu_full_ratio);
    number("memory_some_ratio", p.memory_some_ratio);
    number("memory_full_ratio", p.memory_full_ratio);
    number("io_some_ratio", p.io_some_ratio);
    number("io_full_ratio", p.io_full_ratio);
  }
  void kernel(const KernelValues& k) {
    number("on_cpu_us", k.on_cpu_us);
    number("cpu_cycles", k.cpu_cycles);
    number("run_queue_us", k.run_queue_us);
    number("run_queue_waits", k.run_queue_waits);
    number("tcp_srtt_us", k.tcp_srtt_us);
    number("tcp_srtt_samples", k.tcp_srtt_samples);
    number("block_io_us", k.block_io_us);
    number("block_ios", k.block_ios);
  }
  void energy(std::optional<std::uint64_t> energy_uj, EnergySource source, std::int64_t interval_ns) {
    text("energy_source", to_string(source));
    number("energy_uj", energy_uj);
    if (energy_uj && interval_ns > 0)
      number("power_w", static_cast<double>(*energy_uj) * 1e3 / static_cast<double>(interval_ns));
  }
  std::string line() const {
    std::string line;
    for (const auto& cell : cells_) line.append(&cell == cells_.data() ? "" : ",").append(cell);
    return line + "\n";
  }

 private:
  std::string& cell(std::string_view column) {
    const auto at = std::find(kColumns.begin(), kColumns.end(), column);
    assert(at != kColumns.end() && "no such column");
    return cells_[static_cast<std::size_t>(at - kColumns.begin())];
  }
  std::array<std::string, kColumns.size()> cells_;
};

std::string node_row(const std::string& node, const Sample& sample) {
  const Record& r = sample.record;
  const NodeValues& n = r.node;
  Row row(node, r, "node");
  row.text("name", node);
  row.flag("partial", r.partial);
  row.number("cpu_used_cores", n.cpu_used_cores);
  row.number("cpu_cores", n.cpu_cores);
  if (sample.cgroup_usage_us)
    row.number("cpu_usage_total_us", *sample.cgroup_usage_us);
  else if (sample.node.cpu)
    row.number("cpu_usage_total_us", sample.node.cpu->busy_us);
  row.number("memory_bytes", n.memory_used_bytes);
  row.number("memory_total_bytes", n.memory_total_bytes);
  row.number("net_rx_bytes_per_s", n.net_rx_bytes_per_s);
  row.number("net_tx_bytes_per_s", n.net_tx_bytes_per_s);
  row.number("disk_read_bytes_per_s", n.disk_read_bytes_per_s);
  row.number("disk_write_bytes_per_s", n.disk_write_bytes_per_s);
  row.number("disk_used_ratio", n.disk_used_ratio);
  row.number("tcp_established", n.tcp_established);
  row.pressure(n.pressure);
  row.energy(n.energy_uj, n.energy_source, r.interval_ns);
  row.flag("energy_gap", n.energy_gap);
  row.number("idle_energy_uj", n.idle_energy_uj);
  row.number("unattributed_energy_uj", n.unattributed_energy_uj);
  row.kernel(n.kernel);
  return row.line();
}

std::string domain_row(const std::string& node, const Record& record, const EnergyDomain& domain) {
  Row row(node, record, "domain");
  row.text("name", domain.name);
  row.energy(domain.energy_uj, domain.source, record.interval_ns);
  row.flag("energy_gap", domain.gap);
  return row.line();
}

std::string socket_row(const std::string& node, const Record& record, const SocketValues& socket) {
  Row row(node, record, "socket");
  row.number("name", socket.socket);
  row.number("dram_read_bytes_per_s", socket.dram_read_bytes_per_s);
  row.number("dram_write_bytes_per_s", socket.dram_write_bytes_per_s);
  row.number("frequency_hz", socket.frequency_hz);
  std::string states;
  for (const double ratio : socket.package_c_state_ratios)
    states.append(states.empty() ? "" : ";").append(number_text(ratio));
  row.text("package_c_state_ratios", states);
  return row.line();
}

std::string workload_row(const std::string& node, const Sample& sample, std::size_t i) {
  const Record& r = sample.record;
  const WorkloadValues& w = r.workloads[i];
  Row row(node, r, "workload");
  row.text("kind", to_string(w.kind));
  row.text("name", w.name);
  row.number("cgroup_id", w.cgroup_id);
  row.text("path", sample.paths[i]);
  row.flag("ended", w.ended);
  row.number("cpu_usage_us", w.cpu_usage_us);
  row.number("cpu_usage_total_us", sample.workloads[i].cpu_usage_us);
  row.number("cpu_throttled_us", w.cpu_throttled_us);
  row.number("memory_bytes", w.memory_bytes);
  row.number("memory_anon_bytes", w.memory_anon_bytes);
  row.number("memory_file_bytes", w.memory_file_bytes);
  row.number("memory_high_events", w.memory_high_events);
  row.number("memory_oom_kills", w.memory_oom_kills);
  row.number("io_read_bytes", w.io_read_bytes);
  row.number("io_write_bytes", w.io_write_bytes);
  row.number("pids", w.pids);
  row.pressure(w.pressure);
  row.energy(w.energy_uj, r.node.energy_source, r.interval_ns);
  row.kernel(w.kernel);
  return row.line();
}

std::string probe_row(const std::string& node, const Record& record, const ProbeValues& probe) {
  Row row(node, record, "probe");
  row.text("kind", to_string(probe.kind));
  row.text("name", probe.target);
  row.number("p50_ms", probe.p50_ms);
  row.number("p95_ms", probe.p95_ms);
  row.number("jitter_ms", probe.jitter_ms);
  row.number("loss_ratio", probe.loss_ratio);
  row.number("sent", probe.sent);
  row.number("dns_failures", probe.dns_failures);
  row.number("refusals", probe.refusals);
  row.number("timeouts", probe.timeouts);
  row.number("unreachables", probe.unreachables);
  row.number("bad_answers", probe.bad_answers);
  return row.line();
}
}  // namespace

std::string csv_header() {
  std::string line;
  for (const auto& column : kColumns) line.append(line.empty() ? "" : ",").append(column);
  return line + "\n";
}

std::string sample_csv(const std::string& node, const Sample& sample, const WorkloadFilter& filter) {
  const Record& r = sample.record;
  std::string out = node_row(node, sample);
  for (const auto& domain : r.node.domains) out += domain_row(node, r, domain);
  for (const auto& socket : r.node.sockets) out += socket_row(node, r, socket);
  for (std::size_t i = 0; i < r.workloads.size(); ++i)
    if (filter.takes(r.workloads[i])) out += workload_row(node, sample, i);
  for (const auto& probe : r.probes) out += probe_row(node, r, probe);
  return out;
}

}  // namespace wattle::agent
