#include "agent/sampler.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "common/wire/finite.hpp"

namespace wattle::agent {

namespace {
// Size of the buffer for all reads; only the pages that are written become resident.
constexpr std::size_t kScratch_bytes = 1 << 20;
// A kubelet that starts after the agent may keep its pods on cgroup v1.
constexpr std::chrono::seconds kLook_for_v1_pods_every{30};

void index_below(const CgroupNode& node, std::uint64_t root, RootIndex& out) {
  if (node.is_root) root = node.id;
  out.add(node.id, root);
  for (const auto& child : node.children) index_below(*child, root, out);
}

// Returns true if the index has changed.
bool index_roots(const CgroupCollector& cgroups, RootIndex& out) {
  out.begin();
  index_below(cgroups.tree().top(), RootIndex::kNobody, out);
  for (const ShortLived& root : cgroups.short_lived())
    for (const auto id : root.members) out.add(id, root.id);
  return out.finish();
}
}  // namespace

Result<Sampler> Sampler::open_(const AgentConfig& config, const Clock& clock, std::uint64_t incarnation) {
  const long user_hz = ::sysconf(_SC_CLK_TCK);
  WATTLE_TRY(auto procfs, Procfs::open_(config.roots, user_hz > 0 ? static_cast<std::uint64_t>(user_hz) : 100));
  WATTLE_TRY(auto proc, Dir::open_(config.roots.proc));
  Sampler sampler(clock, std::move(procfs), std::move(proc), EnergyMeter::open_(config));
  sampler.findings_ = examine_at_start(config);
  if (config.nested) {
    WATTLE_TRY(sampler.own_, NodeCgroup::open_(config.roots));
  }
  const bool bpf = config.bpf.enabled && !config.roots.captured;
  if (bpf) {
    const auto v2 = open_cgroup_root(config.roots);
    sampler.signals_.emplace(KernelSignals::load_(signal_options(config, v2 ? &*v2 : nullptr), sampler.findings_));
  }
  sampler.roots_ = config.roots;
  sampler.pod_parents_ = config.pod_parents;
  if (auto top = open_cgroup_top(config.roots)) {
    std::optional<CgroupSweep> sweep;
    if (bpf && !top->v1) {
      auto opened = CgroupSweep::open_(top->dir);
      sampler.findings_.push_back(finding_of(opened, top->dir));
      if (opened) sweep.emplace(std::move(*opened));
      auto lifecycle = CgroupLifecycle::open_();
      sampler.findings_.push_back(finding_of(lifecycle));
      if (lifecycle) sampler.lifecycle_.emplace(std::move(*lifecycle));
    }
    sampler.use_cgroups(std::move(*top), std::move(sweep));
  }
  for (const auto& finding : sampler.energy_.findings()) sampler.findings_.push_back(finding);
  sampler.sample_.record.incarnation = incarnation;
  return sampler;
}

Sampler::Sampler(const Clock& clock, Procfs procfs, Dir proc, EnergyMeter energy)
    : clock_(&clock),
      procfs_(std::move(procfs)),
      proc_(std::move(proc)),
      energy_(std::move(energy)),
      memory_(new char[kScratch_bytes]),  // a vector would touch each page
      scratch_(memory_.get(), kScratch_bytes) {}

void Sampler::use_cgroups(CgroupTop top, std::optional<CgroupSweep> sweep) {
  CgroupTreeOptions options;
  options.pod_parents = pod_parents_;
  options.v1 = top.v1;
  cgroups_.emplace(CgroupTree::open_(std::move(top.dir), std::move(options)), std::move(sweep));
  if (const auto devices = proc_.read_file("devices")) cgroups_->leave_out(parse_stacked_majors(*devices));
  cgroups_->use_v1(CgroupV1::open_(roots_));
  look_for_v1_pods_at_ = clock_->mono() + kLook_for_v1_pods_every;
}

// Changes from cgroup v2 to v1 if only v1 has pods. The BPF programs of the workloads have v2's ids, so they end.
void Sampler::look_for_v1_pods() {
  if (!cgroups_ || cgroups_->tree().v1() || !pods_.empty() || clock_->mono() < look_for_v1_pods_at_) return;
  look_for_v1_pods_at_ = clock_->mono() + kLook_for_v1_pods_every;
  auto top = open_v1_pods(roots_);
  if (!top) return;
  sample_.lost = v1_finding(*top);
  lifecycle_.reset();
  use_cgroups(std::move(*top), std::nullopt);
  if (!own_) return;
  if (auto own = NodeCgroup::open_(roots_)) own_ = std::move(*own);
  sample_.node = {};  // no rate spans both hierarchies
}

const Sample& Sampler::tick() {
  sample_.lost.reset();
  look_for_v1_pods();
  Record& record = sample_.record;
  sample_.errors.clear();
  sample_.changes.clear();
  ++record.seq;

  read_node();
  const double cores = record.node.cpu_cores.value_or(1);
  const MonoTime before = clock_->mono();
  if (cgroups_) read_cgroups(cores);
  read_energy(cores);
  const MonoTime after = clock_->mono();
  // A busy machine may preempt this process between its readings. The longer interval keeps every rate below twice the
  // true one.
  record.interval_ns = record.seq == 1 ? 0 : std::max(before - before_readings_, after - after_readings_).count();
  before_readings_ = before;
  after_readings_ = after;

  sample_.cgroup_usage_us = cgroup_readings_.total_usage_us;
  read_kernel_signals();
  attribute();
  note_changes();

  const MonoTime now = clock_->mono();
  record.mono_ns = to_ns(now);
  record.wall_ns = to_ns(clock_->wall());
  note_left_out(wire::make_finite(record));
  return sample_;
}

const Sample& Sampler::with_probes(std::vector<ProbeValues> probes) {
  note_left_out(wire::make_finite(probes));
  sample_.record.probes = std::move(probes);
  return sample_;
}

void Sampler::note_left_out(std::size_t numbers) {
  if (numbers == 0) return;
  sample_.errors.emplace_back("record", Error{Errc::out_of_range, "record",
                                              std::to_string(numbers) + " values were not finite and were omitted",
                                              "report this with the output of `wattle-agent sample`"});
}

void Sampler::read_cgroups(double cores) {
  Record& record = sample_.record;
  ShortLivedSources sources;
  if (lifecycle_) sources.ended = [this] { return lifecycle_->read(); };
  if (signals_) sources.on_cpu_ns = [this](std::uint64_t id) { return signals_->unread_on_cpu_ns(id); };
  // The collector writes directly into the record, without copies.
  const auto exchange = [&] {
    std::swap(record.workloads, cgroup_readings_.workloads);
    std::swap(sample_.workloads, cgroup_readings_.counters);
    std::swap(sample_.paths, cgroup_readings_.paths);
  };
  exchange();
  cgroups_->read(cgroup_readings_, *clock_, cores, scratch_, sources);
  exchange();
  if (cgroups_->sweep_lost()) sample_.errors.emplace_back("cgroup-sweep", *cgroups_->sweep_lost());
  if (cgroups_->tree().truncated())
    sample_.errors.emplace_back("cgroup",
                                Error{Errc::exhausted, "cgroup tree",
                                      "was not read completely: too many or too deep cgroups, or no file descriptors",
                                      "raise the limit of open files (LimitNOFILE, ulimit -n)"});
  const auto lost_before = lifecycle_lost_;
  if (lifecycle_) lifecycle_lost_ = lifecycle_->lost();
  if (lifecycle_lost_ != lost_before)
    sample_.errors.emplace_back("bpf-lifecycle", Error{Errc::exhausted, "ring of removed cgroups",
                                                       "was full: some short-lived cgroups have no name", ""});
}

double Sampler::link_bytes_per_s() const {
  static const std::vector<IoCounters> kNone;
  return procfs_.link_bytes_per_s(sample_.node.interfaces ? *sample_.node.interfaces : kNone);
}

void Sampler::read_node() {
  NodeValues& node = sample_.record.node;
  prev_node_ = sample_.node;
  procfs_.read(sample_.node, *clock_, scratch_, sample_.errors);
  if (own_) own_->read(sample_.node, *clock_, scratch_);
  const NodeCounters& prev = prev_node_;
  const NodeCounters& now = sample_.node;

  node.cpu_used_cores.reset();
  if (prev.cpu && now.cpu) node.cpu_used_cores = mean_cores(*prev.cpu, *now.cpu, now.cpu_at - prev.cpu_at);
  node.cpu_cores.reset();
  // CPUs that went offline ran for a part of the interval.
  if (now.cpu) node.cpu_cores = std::max(now.cpu->cores, prev.cpu ? prev.cpu->cores : 0);
  node.memory_used_bytes.reset();
  node.memory_total_bytes.reset();
  if (now.memory) {
    node.memory_used_bytes = now.memory->total_bytes - now.memory->available_bytes;
    node.memory_total_bytes = now.memory->total_bytes;
  }
  const auto rate = [](const auto& before, const auto& after, Duration interval, auto& in, auto& out) {
    in.reset();
    out.reset();
    if (!before || !after) return;
    if (const auto mean = mean_rate(*before, *after, interval)) {
      in = mean->in_bytes_per_s;
      out = mean->out_bytes_per_s;
    }
  };
  rate(prev.interfaces, now.interfaces, now.net_at - prev.net_at, node.net_rx_bytes_per_s, node.net_tx_bytes_per_s);
  rate(prev.disks, now.disks, now.disk_at - prev.disk_at, node.disk_read_bytes_per_s, node.disk_write_bytes_per_s);
  node.disk_used_ratio = now.disk_used_ratio;
  node.tcp_established = now.tcp_established;

  prev_pressure_ = sample_.pressure;
  sample_.pressure = own_ ? own_->read_pressure(scratch_) : psi_.read_from(proc_, scratch_);
  const MonoTime at = clock_->mono();
  node.pressure =
      sample_.record.seq == 1 ? Pressure{} : mean_pressure(prev_pressure_, sample_.pressure, at - pressure_at_);
  pressure_at_ = at;
}

void Sampler::read_energy(double cores) {
  NodeValues& node = sample_.record.node;
  std::optional<double> utilisation_ratio;
  if (node.cpu_used_cores) utilisation_ratio = *node.cpu_used_cores / cores;
  if (node.cpu_cores) energy_.use_cores(*node.cpu_cores);
  const EnergyInterval& energy = energy_.read(*clock_, utilisation_ratio, scratch_, sample_.errors);
  node.energy_source = energy.source;
  node.energy_uj = energy.energy_uj;
  node.energy_gap = sample_.energy_gap = energy.gap;
  node.domains = energy.domains;
  node.sockets = energy.sockets;
  node.idle_energy_uj.reset();
  node.unattributed_energy_uj.reset();
  for (const auto& finding : energy_.findings())
    if (const auto known = std::ranges::find(findings_, finding.source, &Finding::source); known != findings_.end())
      *known = finding;
  sample_.rapl_uj = energy.rapl_uj;
  pools_ = energy.pools;
}

void Sampler::read_kernel_signals() {
  if (!signals_) return;
  bool changed = false;
  if (cgroups_) changed = index_roots(*cgroups_, root_index_);
  std::span<const std::uint64_t> stolen_us;
  if (sample_.node.cpu) stolen_us = sample_.node.cpu->stolen_us;
  // The programs know cgroups of v2 only. Energy is attributed to workloads on v1 by CPU time instead of cycles.
  const bool v1 = cgroups_ && cgroups_->tree().v1();
  const auto known = v1 ? std::span<WorkloadValues>() : std::span<WorkloadValues>(sample_.record.workloads);
  signals_->read(*clock_, root_index_, changed, stolen_us, sample_.record.node, known);
  if (signals_->cpu_problem()) sample_.errors.emplace_back("bpf-sched", *signals_->cpu_problem());
  if (signals_->overflows() > 0)
    sample_.errors.emplace_back("bpf",
                                Error{Errc::exhausted, "BPF table", "is full: some cgroups count only for the node",
                                      "restart the agent: it sizes the table by the current number of cgroups"});
}

void Sampler::attribute() {
  Record& record = sample_.record;
  if (!record.node.energy_uj) return;
  // Prefers the cgroup tree, which counts in microseconds; /proc/stat counts in ticks.
  std::uint64_t total_us = 0;
  if (cgroup_readings_.total_usage_delta_us)
    total_us = *cgroup_readings_.total_usage_delta_us;
  else if (prev_node_.cpu && sample_.node.cpu && sample_.node.cpu->busy_us >= prev_node_.cpu->busy_us)
    total_us = sample_.node.cpu->busy_us - prev_node_.cpu->busy_us;
  uses_.clear();
  for (const auto& workload : record.workloads) uses_.push_back({workload.cpu_usage_us.value_or(0), {}});
  CpuUse total{total_us, {}};
  if (signals_ && signals_->package_use().size() == uses_.size()) {
    for (std::size_t i = 0; i < uses_.size(); ++i) uses_[i].by_package = signals_->package_use()[i].weights();
    total.by_package = signals_->node_package_use().weights();
  }
  const auto& result = attributor_.attribute(pools_, uses_, total);
  record.node.idle_energy_uj = result.idle_uj;
  record.node.unattributed_energy_uj = result.unattributed_uj;
  for (std::size_t i = 0; i < record.workloads.size(); ++i) {
    record.workloads[i].energy_uj = result.shares_uj[i];
    attributor_.attribute_below(record.workloads[i]);
  }
}

void Sampler::note_changes() {
  // A pod may have several roots (a cgroup per container): it starts with the first and ends with the last.
  const auto known = [&](const std::string& uid) {
    return std::any_of(pods_.begin(), pods_.end(), [&](const auto& pod) { return pod.second == uid; });
  };
  for (const auto& workload : sample_.record.workloads) {
    if (workload.kind != WorkloadKind::pod || workload.ended || pods_.contains(workload.cgroup_id)) continue;
    if (!known(workload.name)) sample_.changes.push_back({workload.name, workload.cgroup_id, false});
    pods_.emplace(workload.cgroup_id, workload.name);
  }
  for (const auto& workload : sample_.record.workloads) {
    if (!workload.ended || workload.kind != WorkloadKind::pod) continue;
    const bool arrived_and_left = pods_.erase(workload.cgroup_id) == 0;
    if (known(workload.name)) continue;
    if (arrived_and_left) sample_.changes.push_back({workload.name, workload.cgroup_id, false});
    sample_.changes.push_back({workload.name, workload.cgroup_id, true});
  }
}

std::vector<PodChange> Sampler::pods() const {
  std::vector<PodChange> all;
  for (const auto& [id, uid] : pods_) all.push_back({uid, id, false});
  return all;
}

}  // namespace wattle::agent
