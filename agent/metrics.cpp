#include "agent/metrics.hpp"

#include <algorithm>
#include <cmath>

namespace wattle::agent {

namespace {
constexpr std::size_t kBytes_per_workload = 3'000;  // on the page, if every source is available

double per_interval(const std::optional<double>& rate, double interval_s) {
  return rate && std::isfinite(*rate) && *rate > 0 ? *rate * interval_s : 0;
}
}  // namespace

Metrics::Metrics(const std::vector<Finding>& findings, const MetricsOptions& options)
    : options_(options), workloads_(options.max_workloads) {
  // Several findings may be about one source, but a series may appear only once on the page.
  for (const auto& finding : findings) {
    bool& ok = source_ok_.emplace(finding.source, true).first->second;
    ok = ok && finding.ok;
  }
}

void Metrics::observe(const Sample& sample, std::uint64_t late_ticks) {
  const std::lock_guard lock(mutex_);
  const Record& record = sample.record;
  ticks_ = record.seq;
  late_ticks_ += late_ticks;
  now_ns_ = record.mono_ns;
  node_ = sample.node;
  pressure_ = sample.pressure;
  probes_ = record.probes;
  for (const auto& [part, error] : sample.errors) ++errors_[part];
  add_node(record.node, record.interval_ns);
  workloads_.observe(record);
}

void Metrics::add_node(const NodeValues& node, std::int64_t interval_ns) {
  last_.cpu_used_cores = node.cpu_used_cores;
  last_.cpu_cores = node.cpu_cores;
  last_.memory_used_bytes = node.memory_used_bytes;
  last_.memory_total_bytes = node.memory_total_bytes;
  last_.disk_used_ratio = node.disk_used_ratio;
  last_.tcp_established = node.tcp_established;
  last_.energy_source = node.energy_source;
  energy_.add(node.energy_source, node.energy_uj);
  idle_.add(node.energy_source, node.idle_energy_uj);
  unattributed_.add(node.energy_source, node.unattributed_energy_uj);
  if (node.energy_gap) ++energy_gaps_;
  for (const auto& domain : node.domains) {
    auto known = domains_.find(domain.name);
    if (known == domains_.end()) known = domains_.emplace(domain.name, DomainSums{}).first;
    known->second.energy.add(domain.source, domain.energy_uj);
    known->second.gaps[domain.source] += domain.gap ? 1 : 0;
  }
  add_kernel(node.kernel, kernel_);

  const double interval_s = static_cast<double>(interval_ns) / 1e9;
  for (const auto& socket : node.sockets) {
    SocketSums& sums = sockets_[socket.socket];
    sums.read_bytes += per_interval(socket.dram_read_bytes_per_s, interval_s);
    sums.write_bytes += per_interval(socket.dram_write_bytes_per_s, interval_s);
    sums.read_told = sums.read_told || socket.dram_read_bytes_per_s;
    sums.write_told = sums.write_told || socket.dram_write_bytes_per_s;
    const auto& ratios = socket.package_c_state_ratios;
    if (sums.c_state_s.size() < ratios.size()) sums.c_state_s.resize(ratios.size());
    for (std::size_t state = 0; state < ratios.size(); ++state)
      sums.c_state_s[state] += per_interval(ratios[state], interval_s);
    sums.frequency_hz = socket.frequency_hz;
  }
}

void Metrics::observe(const LinkValues& link) {
  const std::lock_guard lock(mutex_);
  link_ = link;
}

void Metrics::observe(const ProvisioningValues& provisioning) {
  const std::lock_guard lock(mutex_);
  provisioning_ = provisioning;
}

// Sums change only with samples, so the last sample's time serves as the clock.
void Metrics::show_energy() {
  if (shown_ && now_ns_ - shown_at_ns_ < options_.energy_floor.count()) return;
  shown_ = true;
  shown_at_ns_ = now_ns_;
  for (Energy* energy : {&energy_, &idle_, &unattributed_}) energy->show();
  for (auto& [name, domain] : domains_) domain.energy.show();
  workloads_.show_energy();
}

std::string Metrics::page(const std::vector<ProbeCounts>& probes) {
  const std::lock_guard lock(mutex_);
  show_energy();
  // Growing the first page by doubling would leave unused memory behind.
  if (page_bytes_ == 0) page_bytes_ = 16'384 + kBytes_per_workload * workloads_.listed_count();
  MetricsText text(page_bytes_);
  write_agent(text);
  write_node(text);
  write_sockets(text);
  write_energy(text);
  write_workloads(text);
  write_probes(text, probes);
  write_link(text);
  write_provisioning(text);
  std::string page = text.take();
  page_bytes_ = page.size() + page.size() / 16;
  return page;
}

}  // namespace wattle::agent
