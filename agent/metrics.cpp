#include "agent/metrics.hpp"

#include <array>
#include <charconv>

#include "common/version.hpp"

namespace wattle::agent {

namespace {
class Page {
 public:
  void begin(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    text_.append("# HELP ").append(name).append(" ").append(help).append("\n# TYPE ");
    text_.append(name).append(" ").append(type).append("\n");
  }
  template <class T>
  void value(T number, std::initializer_list<std::pair<std::string_view, std::string_view>> labels = {}) {
    text_.append(name_);
    char before = '{';
    for (const auto& [key, label] : labels) {
      text_ += before;
      text_.append(key).append("=\"");
      for (const char c : label) {
        if (c == '\\' || c == '"') text_ += '\\';
        if (c == '\n')
          text_.append("\\n");
        else
          text_ += c;
      }
      text_ += '"';
      before = ',';
    }
    if (labels.size() > 0) text_ += '}';
    std::array<char, 32> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    text_ += ' ';
    text_.append(digits.data(), end);
    text_ += '\n';
  }
  template <class T>
  void gauge(std::string_view name, std::string_view help, const std::optional<T>& number) {
    if (!number) return;
    begin(name, "gauge", help);
    value(*number);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
  std::string_view name_;
};

double joules(std::uint64_t uj) { return static_cast<double>(uj) / 1e6; }
double from_us(std::uint64_t us) { return static_cast<double>(us) / 1e6; }

void pressure(Page& page, const PressureTotals& p) {
  page.begin("wattle_node_pressure_seconds_total", "counter", "Time that some or all tasks waited for the resource");
  const auto one = [&](std::string_view resource, const PsiTotals& totals) {
    if (totals.some_us) page.value(from_us(*totals.some_us), {{"resource", resource}, {"share", "some"}});
    if (totals.full_us) page.value(from_us(*totals.full_us), {{"resource", resource}, {"share", "full"}});
  };
  one("cpu", p.cpu);
  one("memory", p.memory);
  one("io", p.io);
}

void io(Page& page, const std::optional<std::vector<IoCounters>>& all, std::string_view in_name,
        std::string_view out_name, std::string_view label, std::string_view help) {
  if (!all) return;
  page.begin(in_name, "counter", help);
  for (const auto& one : *all) page.value(one.in_bytes, {{label, one.name}});
  page.begin(out_name, "counter", help);
  for (const auto& one : *all) page.value(one.out_bytes, {{label, one.name}});
}
}  // namespace

void Metrics::observe(const Sample& sample, std::uint64_t late_ticks) {
  const std::lock_guard lock(mutex_);
  record_ = sample.record;
  raw_ = sample.workloads;
  node_ = sample.node;
  pressure_ = sample.pressure;
  late_ticks_ += late_ticks;
  energy_uj_ += record_.node.energy_uj.value_or(0);
  idle_uj_ += record_.node.idle_energy_uj.value_or(0);
  unattributed_uj_ += record_.node.unattributed_energy_uj.value_or(0);
  for (const auto& domain : record_.node.domains) {
    const auto known = domain_uj_.find(domain.name);
    (known == domain_uj_.end() ? domain_uj_[domain.name] : known->second) += domain.energy_uj;
  }
  for (const auto& workload : record_.workloads) {
    if (workload.ended)
      workload_uj_.erase(workload.cgroup_id);
    else
      workload_uj_[workload.cgroup_id] += workload.energy_uj.value_or(0);
  }
  for (const auto& [part, error] : sample.errors) ++errors_[part];
}

void Metrics::observe(const LinkValues& link) {
  const std::lock_guard lock(mutex_);
  link_ = link;
}

std::string Metrics::page(const std::vector<ProbeCounts>& probes) const {
  const std::lock_guard lock(mutex_);
  Page page;
  const NodeValues& n = record_.node;
  page.begin("wattle_agent_info", "gauge", "What this agent is");
  page.value(1, {{"version", kVersion}, {"energy_source", to_string(n.energy_source)}});
  page.begin("wattle_agent_ticks_total", "counter", "Samples taken since the start");
  page.value(record_.seq);
  page.begin("wattle_agent_late_ticks_total", "counter", "Ticks that were due but not taken in time");
  page.value(late_ticks_);
  page.begin("wattle_agent_source_ok", "gauge", "1 if the source could be read at the start, else 0");
  for (const auto& finding : findings_) page.value(finding.ok ? 1 : 0, {{"source", finding.source}});
  page.begin("wattle_agent_collect_errors_total", "counter", "Reads that failed");
  for (const auto& [part, count] : errors_) page.value(count, {{"source", part}});

  if (node_.cpu) {
    page.begin("wattle_node_cpu_seconds_total", "counter", "CPU time used by the node");
    page.value(from_us(node_.cpu->busy_us));
  }
  page.gauge("wattle_node_cpu_cores", "Cores online", n.cpu_cores);
  page.gauge("wattle_node_cpu_used_cores", "Mean cores in use over the last tick", n.cpu_used_cores);
  page.gauge("wattle_node_memory_used_bytes", "Memory that is not available", n.memory_used_bytes);
  page.gauge("wattle_node_memory_total_bytes", "Memory of the node", n.memory_total_bytes);
  page.gauge("wattle_node_disk_used_ratio", "Used share of the root file system", n.disk_used_ratio);
  page.gauge("wattle_node_tcp_established", "Established TCP connections", n.tcp_established);
  io(page, node_.interfaces, "wattle_node_network_receive_bytes_total", "wattle_node_network_transmit_bytes_total",
     "interface", "Bytes over physical interfaces");
  io(page, node_.disks, "wattle_node_disk_read_bytes_total", "wattle_node_disk_written_bytes_total", "disk",
     "Bytes of whole disks");
  pressure(page, pressure_);

  page.begin("wattle_node_energy_joules_total", "counter",
             "Energy since the agent's start, by its source; nothing counted twice");
  page.value(joules(energy_uj_), {{"source", to_string(n.energy_source)}});
  page.begin("wattle_node_idle_energy_joules_total", "counter", "Part of the energy that an idle node would have used");
  page.value(joules(idle_uj_));
  page.begin("wattle_node_unattributed_energy_joules_total", "counter", "Part of the energy that is no workload's");
  page.value(joules(unattributed_uj_));
  page.begin("wattle_energy_domain_joules_total", "counter", "Energy of one domain; domains contain one another");
  for (const auto& [name, uj] : domain_uj_) page.value(joules(uj), {{"domain", name}});

  const auto workloads = [&](std::string_view name, std::string_view type, std::string_view help, auto number) {
    page.begin(name, type, help);
    for (std::size_t i = 0; i < record_.workloads.size(); ++i) {
      const auto& w = record_.workloads[i];
      if (w.ended) continue;
      if (const auto value = number(i))
        page.value(*value, {{"kind", to_string(w.kind)}, {"name", w.name}, {"cgroup", std::to_string(w.cgroup_id)}});
    }
  };
  workloads("wattle_workload_energy_joules_total", "counter",
            "A workload's share of the energy since the agent's start", [&](std::size_t i) -> std::optional<double> {
              const auto known = workload_uj_.find(record_.workloads[i].cgroup_id);
              return known == workload_uj_.end() ? std::nullopt : std::optional(joules(known->second));
            });
  workloads("wattle_workload_cpu_seconds_total", "counter", "CPU time of a workload",
            [&](std::size_t i) -> std::optional<double> {
              const auto us = raw_[i].cpu_usage_us;
              return us ? std::optional(from_us(*us)) : std::nullopt;
            });
  workloads("wattle_workload_memory_bytes", "gauge", "Memory charged to a workload",
            [&](std::size_t i) { return record_.workloads[i].memory_bytes; });
  workloads("wattle_workload_pids", "gauge", "Tasks of a workload",
            [&](std::size_t i) { return record_.workloads[i].pids; });

  page.begin("wattle_probe_results_total", "counter", "Probes by how they ended");
  for (const auto& probe : probes)
    for (std::size_t end = 0; end < probe.by_end.size(); ++end)
      page.value(probe.by_end[end], {{"target", probe.target}, {"end", to_string(static_cast<ProbeEnd>(end))}});
  // Not one summary: it would need the count and sum of all round trips, and only the last 60 s are kept.
  page.begin("wattle_probe_round_trip_p50_seconds", "gauge", "Median round trip of the last 60 s");
  for (const auto& p : record_.probes)
    if (p.p50_ms) page.value(*p.p50_ms / 1e3, {{"target", p.target}});
  page.begin("wattle_probe_round_trip_p95_seconds", "gauge", "95th percentile of the round trips of the last 60 s");
  for (const auto& p : record_.probes)
    if (p.p95_ms) page.value(*p.p95_ms / 1e3, {{"target", p.target}});
  page.begin("wattle_probe_jitter_seconds", "gauge", "Mean difference of consecutive round trips");
  for (const auto& p : record_.probes)
    if (p.jitter_ms) page.value(*p.jitter_ms / 1e3, {{"target", p.target}});
  page.begin("wattle_probe_loss_ratio", "gauge", "Share of the last 60 s that was not answered");
  for (const auto& p : record_.probes) page.value(p.loss_ratio, {{"target", p.target}});

  if (link_.configured) {
    page.begin("wattle_agent_connected", "gauge", "1 if the controller has welcomed this agent");
    page.value(link_.welcomed ? 1 : 0);
    page.begin("wattle_agent_sent_records_total", "counter", "Records sent to the controller, repeats included");
    page.value(link_.sent_records);
    page.begin("wattle_agent_reconnects_total", "counter", "Times that the controller was lost");
    page.value(link_.reconnects);
    page.begin("wattle_agent_outbox_records", "gauge", "Records that wait for the controller");
    page.value(link_.outbox_records);
    page.begin("wattle_agent_dropped_records_total", "counter", "Records lost because the outbox was full");
    page.value(link_.dropped_records);
  }
  return page.take();
}

}  // namespace wattle::agent
