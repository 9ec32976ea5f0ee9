// metrics_page: the families of the agent's page, in its order. docs/reference/metrics.md lists the same names; a test
// compares them.
#include <array>

#include "agent/metrics.hpp"

namespace wattle::agent {

namespace {
std::string label(std::string_view key, std::string_view value) {
  std::string labels;
  add_label(labels, key, value);
  return labels;
}

template <class F>
void for_each_source(const F& f) {
  for (std::size_t i = 0; i < kEnergySources; ++i) f(static_cast<EnergySource>(i));
}

void write_energy_of(MetricsText& text, const Energy& energy, std::string_view labels = {}) {
  for_each_source([&](EnergySource source) {
    if (const auto uj = energy.shown_uj(source)) text.micro(*uj, labels, label("source", to_string(source)));
  });
}

// `in` and `out`: the labels of the two directions.
void write_io(MetricsText& text, const std::optional<std::vector<IoCounters>>& all, std::string_view name,
              std::string_view key, std::string_view in, std::string_view out, std::string_view help) {
  if (!all) return;
  text.begin(name, "counter", help);
  for (const auto& one : *all) {
    const std::string labels = label(key, one.name);
    text.value(one.in_bytes, labels, in);
    text.value(one.out_bytes, labels, out);
  }
}

enum class Scale { one, micro };
struct Column {
  Counter counter;
  std::string_view labels, suffix;
  Scale scale = Scale::micro;
};
struct Family {
  std::string_view name, type, help;
  std::array<Column, 6> columns;
  std::size_t count;
};

// Names after "wattle_workload_". The node has the last five too.
constexpr std::array kFamilies{
    Family{"wattle_workload_cpu_seconds_total", "counter", "CPU time of a workload", {{{Counter::cpu_us, "", ""}}}, 1},
    Family{"wattle_workload_cpu_throttled_seconds_total",
           "counter",
           "Time that a workload was throttled by its CPU limit",
           {{{Counter::cpu_throttled_us, "", ""}}},
           1},
    Family{"wattle_workload_io_bytes_total",
           "counter",
           "Bytes that a workload read from and wrote to disks",
           {{{Counter::io_read_bytes, "direction=\"read\"", "", Scale::one},
             {Counter::io_write_bytes, "direction=\"written\"", "", Scale::one}}},
           2},
    Family{"wattle_workload_oom_kills_total",
           "counter",
           "Tasks of a workload that the kernel killed because they ran out of memory",
           {{{Counter::memory_oom_kills, "", "", Scale::one}}},
           1},
    Family{"wattle_workload_pressure_seconds_total",
           "counter",
           "Time that some or all tasks of a workload waited for the resource",
           {{{Counter::cpu_some_us, "resource=\"cpu\",share=\"some\"", ""},
             {Counter::cpu_full_us, "resource=\"cpu\",share=\"full\"", ""},
             {Counter::memory_some_us, "resource=\"memory\",share=\"some\"", ""},
             {Counter::memory_full_us, "resource=\"memory\",share=\"full\"", ""},
             {Counter::io_some_us, "resource=\"io\",share=\"some\"", ""},
             {Counter::io_full_us, "resource=\"io\",share=\"full\"", ""}}},
           6},
};

// Families that exist for the node and for each workload: {node, workload}.
constexpr std::array kKernelFamilies{
    std::array{Family{"wattle_node_run_queue_seconds",
                      "summary",
                      "Time that runnable tasks waited for a CPU, per wait",
                      {{{Counter::run_queue_us, "", "_sum"}, {Counter::run_queue_waits, "", "_count", Scale::one}}},
                      2},
               Family{"wattle_workload_run_queue_seconds",
                      "summary",
                      "Time that a workload's runnable tasks waited for a CPU, per wait",
                      {{{Counter::run_queue_us, "", "_sum"}, {Counter::run_queue_waits, "", "_count", Scale::one}}},
                      2}},
    std::array{Family{"wattle_node_tcp_srtt_seconds",
                      "summary",
                      "Smoothed TCP round trips to peers outside the cluster",
                      {{{Counter::tcp_srtt_us, "", "_sum"}, {Counter::tcp_srtt_samples, "", "_count", Scale::one}}},
                      2},
               Family{"wattle_workload_tcp_srtt_seconds",
                      "summary",
                      "Smoothed TCP round trips of a workload to peers outside the cluster",
                      {{{Counter::tcp_srtt_us, "", "_sum"}, {Counter::tcp_srtt_samples, "", "_count", Scale::one}}},
                      2}},
    std::array{Family{"wattle_node_block_io_seconds",
                      "summary",
                      "Time from issue to completion, per request to a block device",
                      {{{Counter::block_io_us, "", "_sum"}, {Counter::block_ios, "", "_count", Scale::one}}},
                      2},
               Family{"wattle_workload_block_io_seconds",
                      "summary",
                      "Time from issue to completion, per request of a workload to a block device",
                      {{{Counter::block_io_us, "", "_sum"}, {Counter::block_ios, "", "_count", Scale::one}}},
                      2}},
};

struct GaugeFamily {
  Gauge gauge;
  std::string_view name, help;
};
constexpr std::array kGauges{
    GaugeFamily{Gauge::memory_bytes, "wattle_workload_memory_bytes", "Memory charged to a workload"},
    GaugeFamily{Gauge::pids, "wattle_workload_pids", "Tasks of a workload"},
};

void write_counters(MetricsText& text, const Family& family, const Counters& counters, std::string_view labels) {
  for (std::size_t i = 0; i < family.count; ++i) {
    const Column& column = family.columns[i];
    const auto number = counters.get(column.counter);
    if (number && column.scale == Scale::micro)
      text.micro(*number, labels, column.labels, column.suffix);
    else if (number)
      text.value(*number, labels, column.labels, column.suffix);
  }
}

constexpr std::string_view kFoldedLabels = "kind=\"folded\",name=\"other\",cgroup=\"0\"";
}  // namespace

void Metrics::write_agent(MetricsText& text) const {
  text.begin("wattle_agent_energy_source", "gauge", "1 for the source of the node's energy, else 0");
  for_each_source([&](EnergySource source) {
    text.value(source == last_.energy_source ? 1 : 0, label("source", to_string(source)));
  });
  text.counter("wattle_agent_ticks_total", "Samples taken since the start", ticks_);
  text.counter("wattle_agent_late_ticks_total", "Ticks that were missed", late_ticks_);
  text.begin("wattle_agent_source_ok", "gauge", "1 if the source was readable at the start, else 0");
  for (const auto& [source, ok] : source_ok_) text.value(ok ? 1 : 0, label("source", source));
  text.begin("wattle_agent_collect_errors_total", "counter", "Failed reads");
  for (const auto& [part, count] : errors_) text.value(count, label("source", part));
}

void Metrics::write_node(MetricsText& text) const {
  text.micro_counter("wattle_node_cpu_seconds_total", "CPU time used by the node",
                     node_.cpu ? std::optional(node_.cpu->busy_us) : std::nullopt);
  text.gauge("wattle_node_cpu_cores", "Cores online", last_.cpu_cores);
  text.gauge("wattle_node_cpu_used_cores", "Mean cores in use over the last tick", last_.cpu_used_cores);
  text.gauge("wattle_node_memory_used_bytes", "Memory that is not available", last_.memory_used_bytes);
  text.gauge("wattle_node_memory_total_bytes", "Memory of the node", last_.memory_total_bytes);
  write_io(text, node_.interfaces, "wattle_node_network_bytes_total", "interface", "direction=\"received\"",
           "direction=\"sent\"", "Bytes over physical interfaces");
  write_io(text, node_.disks, "wattle_node_disk_bytes_total", "disk", "direction=\"read\"", "direction=\"written\"",
           "Bytes of whole disks");
  text.begin("wattle_node_pressure_seconds_total", "counter", "Time that some or all tasks waited for the resource");
  const auto pressure = [&](std::string_view resource, const PsiTotals& totals) {
    const std::string labels = label("resource", resource);
    if (totals.some_us) text.micro(*totals.some_us, labels, "share=\"some\"");
    if (totals.full_us) text.micro(*totals.full_us, labels, "share=\"full\"");
  };
  pressure("cpu", pressure_.cpu);
  pressure("memory", pressure_.memory);
  pressure("io", pressure_.io);
  for (const auto& [of_node, of_workload] : kKernelFamilies) {
    text.begin(of_node.name, of_node.type, of_node.help);
    write_counters(text, of_node, kernel_, {});
  }
}

void Metrics::write_energy(MetricsText& text) const {
  text.begin("wattle_node_energy_joules_total", "counter",
             "Energy since the start of the agent by source, without double counting");
  write_energy_of(text, energy_);
  text.begin("wattle_node_idle_energy_joules_total", "counter",
             "Part of the energy that the idle node would have used");
  write_energy_of(text, idle_);
  text.begin("wattle_node_unattributed_energy_joules_total", "counter",
             "Part of the energy that is not attributed to a workload");
  write_energy_of(text, unattributed_);
  text.begin("wattle_node_left_energy_joules_total", "counter",
             "Part of the energy of workloads that are no longer listed");
  write_energy_of(text, workloads_.left());
  text.counter("wattle_node_energy_gaps_total", "Ticks whose energy is a lower bound", energy_gaps_);
  text.begin("wattle_energy_domain_joules_total", "counter", "Energy of one domain; domains can contain each other");
  for (const auto& [name, energy] : domains_) write_energy_of(text, energy, label("domain", name));
}

void Metrics::write_workloads(MetricsText& text) const {
  const bool folded = workloads_.folded_count() > 0;
  // Keeps the sums of folded workloads on the page, because counters must not disappear.
  const auto each = [&](const auto& write) {
    for (const auto& one : workloads_.all())
      if (one.sums) write(*one.sums, one.sums->labels);
    write(workloads_.folded(), kFoldedLabels);
  };
  std::array<std::string, kEnergySources> sources;
  for_each_source([&](EnergySource s) { sources[static_cast<std::size_t>(s)] = label("source", to_string(s)); });
  text.begin("wattle_workload_energy_joules_total", "counter",
             "A workload's share of the energy since it was first listed");
  each([&](const Sums& sums, std::string_view labels) {
    for_each_source([&](EnergySource s) {
      if (const auto uj = sums.energy.shown_uj(s)) text.micro(*uj, labels, sources[static_cast<std::size_t>(s)]);
    });
  });
  const auto counters = [&](const Family& family) {
    text.begin(family.name, family.type, family.help);
    each([&](const Sums& sums, std::string_view labels) { write_counters(text, family, sums.counters, labels); });
  };
  for (const auto& family : kFamilies) counters(family);
  for (const auto& [of_node, of_workload] : kKernelFamilies) counters(of_workload);
  const Gauges others = workloads_.folded_gauges();
  for (const auto& family : kGauges) {
    text.begin(family.name, "gauge", family.help);
    for (const auto& one : workloads_.all())
      if (const auto number = one.gauges.get(family.gauge); number && one.sums && one.ended_at_ns == 0)
        text.value(*number, one.sums->labels);
    if (const auto number = others.get(family.gauge); number && folded) text.value(*number, kFoldedLabels);
  }
}

void Metrics::write_probes(MetricsText& text, const std::vector<ProbeCounts>& probes) const {
  const auto labels_of = [](const ProbeValues& probe) {
    std::string labels;
    add_label(labels, "target", probe.target);
    add_label(labels, "kind", to_string(probe.kind));
    return labels;
  };
  const auto labels_of_target = [&](const std::string& target) {
    ProbeValues of_kind;
    of_kind.target = target;
    for (const auto& known : probes_)
      if (known.target == target) of_kind.kind = known.kind;
    return labels_of(of_kind);
  };
  text.begin("wattle_probe_results_total", "counter", "Probes by result");
  for (const auto& probe : probes) {
    const std::string labels = labels_of_target(probe.target);
    for (std::size_t end = 0; end < probe.by_end.size(); ++end)
      text.value(probe.by_end[end], labels, label("end", to_string(static_cast<ProbeEnd>(end))));
  }
  text.begin("wattle_probe_round_trip_seconds", "histogram", "Round trips of answered probes");
  for (const auto& probe : probes) {
    const std::string labels = labels_of_target(probe.target);
    const RoundTrips& trips = probe.round_trips;
    for (std::size_t i = 0; i < trips.bounds().size(); ++i) text.bucket(trips.bounds()[i], trips.up_to(i), labels);
    text.histogram_end(trips.sum(), trips.count(), labels);
  }
}

void Metrics::write_provisioning(MetricsText& text) const {
  if (!provisioning_.configured) return;
  if (provisioning_.latency)
    text.gauge("wattle_agent_latency_known", "Services with known response times",
               std::optional(provisioning_.latency_known));
  if (!provisioning_.answers.empty()) write_answers(text);
  if (!provisioning_.connected) return;
  text.gauge("wattle_agent_actuator_limits", "Workloads with limits set by the actuator",
             std::optional(provisioning_.set));
  text.begin(
      "wattle_agent_actuator_cores", "gauge",
      "CPU of the watched workloads: in use, limits set, limits that would be set, and original limits minus them");
  text.value(provisioning_.used_cores, "kind=\"used\"");
  text.value(provisioning_.granted_cores, "kind=\"granted\"");
  text.value(provisioning_.suggested_cores, "kind=\"suggested\"");
  text.value(provisioning_.freed_cores, "kind=\"freed\"");
  text.gauge("wattle_agent_actuator_student_out",
             "Workloads whose student was withdrawn because of too much throttling",
             std::optional(provisioning_.student_out));
}

void Metrics::write_link(MetricsText& text) const {
  if (!link_.configured) return;
  text.begin("wattle_agent_connected", "gauge", "1 if the agent is connected to the controller");
  text.value(link_.welcomed ? 1 : 0);
  text.counter("wattle_agent_sent_records_total", "Records sent to the controller, including repetitions",
               link_.sent_records);
  text.gauge("wattle_agent_outbox_records", "Records waiting for the controller", std::optional(link_.outbox_records));
  text.counter("wattle_agent_dropped_records_total", "Records lost because the spool or outbox was full or damaged",
               link_.dropped_records);
  if (!link_.spool) return;
  text.begin("wattle_agent_spool_durable", "gauge", "1 if samples outlive the process, 0 if the disk refuses them");
  text.value(link_.spool_durable ? 1 : 0);
  text.gauge("wattle_agent_spool_bytes", "Size of the waiting records", std::optional(link_.spool_bytes));
  text.gauge("wattle_agent_spool_gap_records", "Dropped records that are newer than the last acknowledged record",
             std::optional(link_.spool_gap_records));
  text.counter("wattle_agent_spool_written_bytes_total", "Bytes written to the spool's synced file and its log",
               link_.spool_written_bytes);
}

}  // namespace wattle::agent
