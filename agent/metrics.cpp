#include "agent/metrics.hpp"

namespace wattle::agent {

namespace {
constexpr std::size_t kBytes_per_workload = 3'000;  // on the page, if every source is available
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
  add_node(record.node);
  workloads_.observe(record);
}

void Metrics::add_node(const NodeValues& node) {
  last_.cpu_used_cores = node.cpu_used_cores;
  last_.cpu_cores = node.cpu_cores;
  last_.memory_used_bytes = node.memory_used_bytes;
  last_.memory_total_bytes = node.memory_total_bytes;
  last_.energy_source = node.energy_source;
  energy_.add(node.energy_source, node.energy_uj);
  idle_.add(node.energy_source, node.idle_energy_uj);
  unattributed_.add(node.energy_source, node.unattributed_energy_uj);
  if (node.energy_gap) ++energy_gaps_;
  for (const auto& domain : node.domains) domains_[domain.name].add(domain.source, domain.energy_uj);
  add_kernel(node.kernel, kernel_);
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
  for (auto& [name, energy] : domains_) energy.show();
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
