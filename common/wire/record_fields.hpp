// record_fields: order on the wire of the fields of a record and its parts; fields.hpp has the others.
// Add a field only at the end of its list; never remove or move one or change its meaning.
// Threads  pure
#pragma once

#include "common/wire/messages.hpp"

namespace wattle::wire {

// Calls v("name", value) for each field in order.
template <class V>
void fields(V& v, Pressure& m) {
  v("cpu_some_ratio", m.cpu_some_ratio);
  v("cpu_full_ratio", m.cpu_full_ratio);
  v("memory_some_ratio", m.memory_some_ratio);
  v("memory_full_ratio", m.memory_full_ratio);
  v("io_some_ratio", m.io_some_ratio);
  v("io_full_ratio", m.io_full_ratio);
}

template <class V>
void fields(V& v, EnergyDomain& m) {
  v("name", m.name);
  v("energy_uj", m.energy_uj);
  v("gap", m.gap);
  v("source", m.source);
}

template <class V>
void fields(V& v, SocketValues& m) {
  v("socket", m.socket);
  v("dram_read_bytes_per_s", m.dram_read_bytes_per_s);
  v("dram_write_bytes_per_s", m.dram_write_bytes_per_s);
  v("frequency_hz", m.frequency_hz);
  v("package_c_state_ratios", m.package_c_state_ratios);
}

template <class V>
void fields(V& v, KernelValues& m) {
  v("on_cpu_us", m.on_cpu_us);
  v("cpu_cycles", m.cpu_cycles);
  v("run_queue_us", m.run_queue_us);
  v("run_queue_waits", m.run_queue_waits);
  v("tcp_srtt_us", m.tcp_srtt_us);
  v("tcp_srtt_samples", m.tcp_srtt_samples);
  v("block_io_us", m.block_io_us);
  v("block_ios", m.block_ios);
}

template <class V>
void fields(V& v, NodeValues& m) {
  v("cpu_used_cores", m.cpu_used_cores);
  v("cpu_cores", m.cpu_cores);
  v("memory_used_bytes", m.memory_used_bytes);
  v("memory_total_bytes", m.memory_total_bytes);
  v("net_rx_bytes_per_s", m.net_rx_bytes_per_s);
  v("net_tx_bytes_per_s", m.net_tx_bytes_per_s);
  v("disk_read_bytes_per_s", m.disk_read_bytes_per_s);
  v("disk_write_bytes_per_s", m.disk_write_bytes_per_s);
  v("disk_used_ratio", m.disk_used_ratio);
  v("tcp_established", m.tcp_established);
  v("pressure", m.pressure);
  v("energy_source", m.energy_source);
  v("energy_uj", m.energy_uj);
  v("idle_energy_uj", m.idle_energy_uj);
  v("unattributed_energy_uj", m.unattributed_energy_uj);
  v("domains", m.domains);
  v("energy_gap", m.energy_gap);
  v("sockets", m.sockets);
  v("kernel", m.kernel);
}

template <class V>
void fields(V& v, ContainerValues& m) {
  v("id", m.id);
  v("cpu_usage_us", m.cpu_usage_us);
  v("energy_uj", m.energy_uj);
}

template <class V>
void fields(V& v, WorkloadValues& m) {
  v("cgroup_id", m.cgroup_id);
  v("kind", m.kind);
  v("name", m.name);
  v("ended", m.ended);
  v("cpu_usage_us", m.cpu_usage_us);
  v("energy_uj", m.energy_uj);
  v("memory_bytes", m.memory_bytes);
  v("io_read_bytes", m.io_read_bytes);
  v("io_write_bytes", m.io_write_bytes);
  v("pids", m.pids);
  v("pressure", m.pressure);
  v("cpu_throttled_us", m.cpu_throttled_us);
  v("memory_anon_bytes", m.memory_anon_bytes);
  v("memory_file_bytes", m.memory_file_bytes);
  v("memory_high_events", m.memory_high_events);
  v("memory_oom_kills", m.memory_oom_kills);
  v("kernel", m.kernel);
  v("containers", m.containers);
  v("nested_cpu_us", m.nested_cpu_us);
}

template <class V>
void fields(V& v, ProbeValues& m) {
  v("target", m.target);
  v("p50_ms", m.p50_ms);
  v("p95_ms", m.p95_ms);
  v("jitter_ms", m.jitter_ms);
  v("loss_ratio", m.loss_ratio);
  v("sent", m.sent);
  v("kind", m.kind);
  v("dns_failures", m.dns_failures);
  v("refusals", m.refusals);
  v("timeouts", m.timeouts);
  v("unreachables", m.unreachables);
  v("bad_answers", m.bad_answers);
}

template <class V>
void fields(V& v, LimitMinute& m) {
  v("name", m.name);
  v("number", m.number);
  v("steered", m.steered);
  v("margin_ratio", m.margin_ratio);
  v("rule_margin_ratio", m.rule_margin_ratio);
  v("throttled_ratio", m.throttled_ratio);
  v("used_cores", m.used_cores);
  v("granted_cores", m.granted_cores);
  v("deviation_ratio", m.deviation_ratio);
  v("peak_ratio", m.peak_ratio);
  v("requests", m.requests);
  v("requests_over", m.requests_over);
  v("p99_over_target", m.p99_over_target);
  v("memory_margin_ratio", m.memory_margin_ratio);
  v("memory_granted_bytes", m.memory_granted_bytes);
  v("memory_used_bytes", m.memory_used_bytes);
  v("memory_used_over_peak", m.memory_used_over_peak);
  v("memory_short_ratio", m.memory_short_ratio);
  v("student_out", m.student_out);
}

template <class V>
void fields(V& v, Record& m) {
  v("incarnation", m.incarnation);
  v("seq", m.seq);
  v("mono_ns", m.mono_ns);
  v("wall_ns", m.wall_ns);
  v("interval_ns", m.interval_ns);
  v("node", m.node);
  v("workloads", m.workloads);
  v("probes", m.probes);
  v("partial", m.partial);
  v("part", m.part);
  v("parts", m.parts);
  v("limit_minutes", m.limit_minutes);
}

template <class V>
void fields(V& v, RecordGap& m) {
  v("incarnation", m.incarnation);
  v("first_seq", m.first_seq);
  v("last_seq", m.last_seq);
}

}  // namespace wattle::wire
