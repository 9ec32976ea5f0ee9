#include "agent/render.hpp"

#include "common/json/value.hpp"

namespace wattle::agent {

namespace {
using Json = OrderedJson;

template <class T>
void put(Json& to, const char* key, const std::optional<T>& value) {
  if (value) to[key] = *value;
}

Json pressure_json(const Pressure& p) {
  Json out = Json::object();
  put(out, "cpu_some_ratio", p.cpu_some_ratio);
  put(out, "cpu_full_ratio", p.cpu_full_ratio);
  put(out, "memory_some_ratio", p.memory_some_ratio);
  put(out, "memory_full_ratio", p.memory_full_ratio);
  put(out, "io_some_ratio", p.io_some_ratio);
  put(out, "io_full_ratio", p.io_full_ratio);
  return out;
}

Json totals_json(const PressureTotals& p) {
  Json out = Json::object();
  put(out, "cpu_some_us", p.cpu.some_us);
  put(out, "cpu_full_us", p.cpu.full_us);
  put(out, "memory_some_us", p.memory.some_us);
  put(out, "memory_full_us", p.memory.full_us);
  put(out, "io_some_us", p.io.some_us);
  put(out, "io_full_us", p.io.full_us);
  return out;
}

Json io_json(const std::vector<IoCounters>& all, const char* in, const char* out_key) {
  Json out = Json::array();
  for (const auto& one : all) out.push_back({{"name", one.name}, {in, one.in_bytes}, {out_key, one.out_bytes}});
  return out;
}

Json kernel_json(const KernelValues& k) {
  Json out = Json::object();
  put(out, "on_cpu_us", k.on_cpu_us);
  put(out, "cpu_cycles", k.cpu_cycles);
  put(out, "run_queue_us", k.run_queue_us);
  put(out, "run_queue_waits", k.run_queue_waits);
  put(out, "tcp_srtt_us", k.tcp_srtt_us);
  put(out, "tcp_srtt_samples", k.tcp_srtt_samples);
  put(out, "block_io_us", k.block_io_us);
  put(out, "block_ios", k.block_ios);
  return out;
}

Json socket_json(const SocketValues& s) {
  Json out = {{"socket", s.socket}};
  put(out, "dram_read_bytes_per_s", s.dram_read_bytes_per_s);
  put(out, "dram_write_bytes_per_s", s.dram_write_bytes_per_s);
  put(out, "frequency_hz", s.frequency_hz);
  out["package_c_state_ratios"] = s.package_c_state_ratios;
  return out;
}

Json node_json(const NodeValues& n) {
  Json out = Json::object();
  put(out, "cpu_used_cores", n.cpu_used_cores);
  put(out, "cpu_cores", n.cpu_cores);
  put(out, "memory_used_bytes", n.memory_used_bytes);
  put(out, "memory_total_bytes", n.memory_total_bytes);
  put(out, "net_rx_bytes_per_s", n.net_rx_bytes_per_s);
  put(out, "net_tx_bytes_per_s", n.net_tx_bytes_per_s);
  put(out, "disk_read_bytes_per_s", n.disk_read_bytes_per_s);
  put(out, "disk_write_bytes_per_s", n.disk_write_bytes_per_s);
  put(out, "disk_used_ratio", n.disk_used_ratio);
  put(out, "tcp_established", n.tcp_established);
  out["pressure"] = pressure_json(n.pressure);
  out["energy_source"] = to_string(n.energy_source);
  put(out, "energy_uj", n.energy_uj);
  put(out, "idle_energy_uj", n.idle_energy_uj);
  put(out, "unattributed_energy_uj", n.unattributed_energy_uj);
  out["domains"] = Json::array();
  for (const auto& domain : n.domains)
    out["domains"].push_back({{"name", domain.name},
                              {"energy_uj", domain.energy_uj},
                              {"gap", domain.gap},
                              {"source", to_string(domain.source)}});
  out["energy_gap"] = n.energy_gap;
  out["sockets"] = Json::array();
  for (const auto& socket : n.sockets) out["sockets"].push_back(socket_json(socket));
  out["kernel"] = kernel_json(n.kernel);
  return out;
}

Json raw_node_json(const Sample& sample) {
  Json out = Json::object();
  if (sample.node.cpu) {
    out["cpu_busy_us"] = sample.node.cpu->busy_us;
    out["cpu_idle_us"] = sample.node.cpu->idle_us;
  }
  put(out, "cgroup_cpu_usage_us", sample.cgroup_usage_us);
  if (sample.node.interfaces) out["interfaces"] = io_json(*sample.node.interfaces, "rx_bytes", "tx_bytes");
  if (sample.node.disks) out["disks"] = io_json(*sample.node.disks, "read_bytes", "write_bytes");
  out["pressure"] = totals_json(sample.pressure);
  out["rapl"] = Json::array();
  for (const auto& [name, energy_uj] : sample.rapl_uj)
    out["rapl"].push_back({{"name", name}, {"energy_uj", energy_uj}});
  return out;
}

Json workload_json(const WorkloadValues& w, const WorkloadCounters& raw, const std::string& path) {
  Json out = {
      {"cgroup_id", w.cgroup_id}, {"kind", to_string(w.kind)}, {"name", w.name}, {"path", path}, {"ended", w.ended}};
  put(out, "cpu_usage_us", w.cpu_usage_us);
  put(out, "energy_uj", w.energy_uj);
  put(out, "memory_bytes", w.memory_bytes);
  put(out, "io_read_bytes", w.io_read_bytes);
  put(out, "io_write_bytes", w.io_write_bytes);
  put(out, "pids", w.pids);
  out["pressure"] = pressure_json(w.pressure);
  put(out, "cpu_throttled_us", w.cpu_throttled_us);
  put(out, "memory_anon_bytes", w.memory_anon_bytes);
  put(out, "memory_file_bytes", w.memory_file_bytes);
  put(out, "memory_high_events", w.memory_high_events);
  put(out, "memory_oom_kills", w.memory_oom_kills);
  out["kernel"] = kernel_json(w.kernel);
  put(out, "nested_cpu_us", w.nested_cpu_us);
  out["containers"] = Json::array();
  for (const ContainerValues& container : w.containers) {
    Json each = {{"id", container.id}, {"cpu_usage_us", container.cpu_usage_us}};
    put(each, "energy_uj", container.energy_uj);
    out["containers"].push_back(std::move(each));
  }
  Json counters = Json::object();
  put(counters, "cpu_usage_us", raw.cpu_usage_us);
  if (raw.io) {
    counters["io_read_bytes"] = raw.io->read_bytes;
    counters["io_write_bytes"] = raw.io->write_bytes;
  }
  counters["pressure"] = totals_json(raw.pressure);
  out["raw"] = std::move(counters);
  return out;
}

Json probe_json(const ProbeValues& p) {
  Json out = {{"target", p.target}, {"kind", to_string(p.kind)}};
  put(out, "p50_ms", p.p50_ms);
  put(out, "p95_ms", p.p95_ms);
  put(out, "jitter_ms", p.jitter_ms);
  out["loss_ratio"] = p.loss_ratio;
  out["sent"] = p.sent;
  out["dns_failures"] = p.dns_failures;
  out["refusals"] = p.refusals;
  out["timeouts"] = p.timeouts;
  out["unreachables"] = p.unreachables;
  out["bad_answers"] = p.bad_answers;
  return out;
}

// Names come from directories: bytes that are not UTF-8 are replaced instead of causing an exception. Other characters
// than ASCII are escaped, as in the log, so that a name cannot control a terminal.
std::string line_of(const Json& json) { return json.dump(-1, JsonText::ascii); }

}  // namespace

std::string sample_json(const std::string& node, const Sample& sample, const WorkloadFilter& filter) {
  const Record& r = sample.record;
  Json out = {{"node_name", node},         {"incarnation", r.incarnation}, {"seq", r.seq},
              {"mono_ns", r.mono_ns},      {"wall_ns", r.wall_ns},         {"interval_ns", r.interval_ns},
              {"node", node_json(r.node)}, {"partial", r.partial}};
  if (r.node.energy_uj && r.interval_ns > 0)
    out["node"]["power_w"] = static_cast<double>(*r.node.energy_uj) * 1e3 / static_cast<double>(r.interval_ns);
  out["raw"] = raw_node_json(sample);
  out["workloads"] = Json::array();
  for (std::size_t i = 0; i < r.workloads.size(); ++i)
    if (filter.takes(r.workloads[i]))
      out["workloads"].push_back(workload_json(r.workloads[i], sample.workloads[i], sample.paths[i]));
  out["probes"] = Json::array();
  for (const auto& probe : r.probes) out["probes"].push_back(probe_json(probe));
  if (!sample.errors.empty()) {
    out["errors"] = Json::object();
    for (const auto& [part, error] : sample.errors) out["errors"][part] = error.message();
  }
  return line_of(out);
}

std::string doctor_json(const std::string& node, const std::vector<Finding>& findings) {
  Json out = {{"node_name", node}, {"healthy", healthy(findings)}, {"findings", Json::array()}};
  for (const auto& f : findings)
    out["findings"].push_back(
        {{"source", f.source}, {"state", f.state()}, {"optional", f.optional}, {"why", f.why}, {"mend", f.mend}});
  return line_of(out);
}

std::string doctor_text(const std::vector<Finding>& findings) {
  std::string text;
  for (const auto& finding : findings) text += finding.text() + "\n";
  return text;
}

}  // namespace wattle::agent
