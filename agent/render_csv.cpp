#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>
#include <string_view>
#include <type_traits>
#include <vector>

#include "agent/render.hpp"
#include "common/parse.hpp"
#include "common/printable.hpp"
#include "common/wire/record_fields.hpp"
#include "common/wire/traits.hpp"

namespace wattle::agent {

namespace {
// Columns in the order of the header. Readers may rely on it: new ones are added at the end, and
// docs/reference/agent.md lists them all.
constexpr std::string_view kHeader =
    "node_name,seq,wall_ns,mono_ns,interval_ns,scope,kind,name,ended,cpu_used_cores,cpu_cores,cpu_usage_us,"
    "cpu_usage_total_us,memory_bytes,memory_total_bytes,net_rx_bytes_per_s,net_tx_bytes_per_s,"
    "disk_read_bytes_per_s,disk_write_bytes_per_s,disk_used_ratio,tcp_established,io_read_bytes,io_write_bytes,"
    "pids,cpu_some_ratio,memory_some_ratio,io_some_ratio,energy_source,energy_uj,idle_energy_uj,"
    "unattributed_energy_uj,p50_ms,p95_ms,jitter_ms,loss_ratio,cpu_full_ratio,memory_full_ratio,io_full_ratio,"
    "energy_gap,power_w,on_cpu_us,cpu_cycles,run_queue_us,run_queue_waits,tcp_srtt_us,tcp_srtt_samples,block_io_us,"
    "block_ios,cpu_throttled_us,memory_anon_bytes,memory_file_bytes,memory_high_events,memory_oom_kills,cgroup_id,"
    "path,sent,dns_failures,refusals,timeouts,unreachables,bad_answers,dram_read_bytes_per_s,"
    "dram_write_bytes_per_s,frequency_hz,package_c_state_ratios,incarnation,partial";

const std::vector<std::string_view>& columns() {
  static const std::vector<std::string_view> all = parse::split(kHeader, ',');
  return all;
}

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
  // Fills the columns of the fields of a part of a record. The names of some differ.
  template <class T>
  void operator()(std::string_view field, T& value) {
    const std::string_view column = field == "memory_used_bytes"             ? "memory_bytes"
                                    : field == "target" || field == "socket" ? "name"
                                    : field == "source"                      ? "energy_source"
                                    : field == "gap"                         ? "energy_gap"
                                                                             : field;
    if constexpr (std::is_same_v<T, Pressure> || std::is_same_v<T, KernelValues>) {
      wire::fields(*this, value);
    } else if constexpr (!wire::is_vector<T>::value) {
      if (std::find(columns().begin(), columns().end(), column) == columns().end()) return;
      if constexpr (std::is_enum_v<T>)
        text(column, to_string(value));
      else if constexpr (std::is_same_v<T, std::string>)
        text(column, value);
      else if constexpr (std::is_same_v<T, bool>)
        flag(column, value);
      else
        number(column, value);
    }
  }
  void power(std::optional<std::uint64_t> energy_uj, std::int64_t interval_ns) {
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
    const auto at = std::find(columns().begin(), columns().end(), column);
    assert(at != columns().end() && "no such column");
    return cells_[static_cast<std::size_t>(at - columns().begin())];
  }
  std::vector<std::string> cells_ = std::vector<std::string>(columns().size());
};

std::string node_row(const std::string& node, const Sample& sample) {
  const Record& r = sample.record;
  NodeValues n = r.node;
  Row row(node, r, "node");
  row.text("name", node);
  row.flag("partial", r.partial);
  wire::fields(row, n);
  row.power(n.energy_uj, r.interval_ns);
  if (sample.cgroup_usage_us)
    row.number("cpu_usage_total_us", *sample.cgroup_usage_us);
  else if (sample.node.cpu)
    row.number("cpu_usage_total_us", sample.node.cpu->busy_us);
  return row.line();
}

std::string domain_row(const std::string& node, const Record& record, EnergyDomain domain) {
  Row row(node, record, "domain");
  wire::fields(row, domain);
  row.power(domain.energy_uj, record.interval_ns);
  return row.line();
}

std::string socket_row(const std::string& node, const Record& record, SocketValues socket) {
  Row row(node, record, "socket");
  wire::fields(row, socket);
  std::string states;
  for (const double ratio : socket.package_c_state_ratios)
    states.append(states.empty() ? "" : ";").append(number_text(ratio));
  row.text("package_c_state_ratios", states);
  return row.line();
}

std::string workload_row(const std::string& node, const Sample& sample, std::size_t i) {
  const Record& r = sample.record;
  WorkloadValues w = r.workloads[i];
  Row row(node, r, "workload");
  wire::fields(row, w);
  row.text("path", sample.paths[i]);
  row.number("cpu_usage_total_us", sample.workloads[i].cpu_usage_us);
  row.text("energy_source", to_string(r.node.energy_source));
  row.power(w.energy_uj, r.interval_ns);
  return row.line();
}

std::string probe_row(const std::string& node, const Record& record, ProbeValues probe) {
  Row row(node, record, "probe");
  wire::fields(row, probe);
  return row.line();
}
}  // namespace

std::string csv_header() { return std::string(kHeader) + "\n"; }

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
