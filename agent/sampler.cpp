#include "agent/sampler.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "agent/collect/cgroup_mount.hpp"

namespace wattle::agent {

namespace {
// One buffer for all reads; only the pages that files fill are ever touched.
constexpr std::size_t kScratch_bytes = 1 << 20;
}  // namespace

Result<Sampler> Sampler::open_(const AgentConfig& config, const Clock& clock, std::uint64_t incarnation) {
  const long user_hz = ::sysconf(_SC_CLK_TCK);
  WATTLE_TRY(auto procfs, Procfs::open_(config.roots, user_hz > 0 ? static_cast<std::uint64_t>(user_hz) : 100));
  WATTLE_TRY(auto proc, Dir::open_(config.roots.proc));
  Sampler sampler(clock, std::move(procfs), std::move(proc));
  sampler.findings_ = examine(config.roots);
  if (auto root = open_cgroup_root(config.roots)) {
    CgroupTreeOptions options;
    options.pod_parents = config.pod_parents;
    sampler.cgroups_.emplace(CgroupTree::open_(std::move(*root), std::move(options)));
  }
  if (auto rapl = Rapl::open_(config.roots)) sampler.rapl_.emplace(std::move(*rapl));

  const auto stat = sampler.proc_.read_file("stat", 16 << 20);
  const auto cpu = stat ? parse_stat(*stat, 100) : std::nullopt;
  const auto cpuinfo = sampler.proc_.read_file("cpuinfo", 16 << 20);
  sampler.power_model_ = table_model(cpuinfo ? parse_cpuinfo(*cpuinfo) : std::nullopt, cpu ? cpu->cores : 1);
  if (config.estimate.idle_w) {
    sampler.power_model_ = {*config.estimate.idle_w, *config.estimate.max_w, config.estimate.curve, "configuration"};
    sampler.configured_idle_w_ = config.estimate.idle_w;
  }
  sampler.idle_power_ = IdlePower(sampler.power_model_);
  if (!sampler.rapl_)
    sampler.findings_.push_back(
        {"energy", true, true, "estimated from utilisation, " + sampler.power_model_.origin, ""});
  sampler.sample_.record.incarnation = incarnation;
  return sampler;
}

Sampler::Sampler(const Clock& clock, Procfs procfs, Dir proc)
    : clock_(&clock), procfs_(std::move(procfs)), proc_(std::move(proc)), scratch_(kScratch_bytes) {}

const Sample& Sampler::tick() {
  Record& record = sample_.record;
  sample_.errors.clear();
  sample_.changes.clear();
  ++record.seq;

  read_node();
  const double cores = record.node.cpu_cores.value_or(1);
  if (cgroups_) {
    cgroups_->read(cgroup_readings_, *clock_, cores, scratch_);
    if (cgroups_->tree().truncated())
      sample_.errors.emplace_back(
          "cgroup", Error{Errc::exhausted, "cgroup tree", "is not seen whole: too many, too deep, or no descriptors",
                          "raise the limit of open files (LimitNOFILE, ulimit -n)"});
  }
  read_energy(cores);

  sample_.cgroup_usage_us = cgroup_readings_.total_usage_us;
  const auto& readings = cgroup_readings_.workloads;
  record.workloads.resize(readings.size());
  sample_.workloads.resize(readings.size());
  sample_.paths.resize(readings.size());
  for (std::size_t i = 0; i < readings.size(); ++i) {
    record.workloads[i] = readings[i].values;
    sample_.workloads[i] = readings[i].raw;
    sample_.paths[i] = readings[i].path;
  }
  attribute();
  note_changes();

  const MonoTime now = clock_->mono();
  record.interval_ns = record.seq == 1 ? 0 : (now - tick_at_).count();
  tick_at_ = now;
  record.mono_ns = to_ns(now);
  record.wall_ns = to_ns(clock_->wall());
  return sample_;
}

void Sampler::read_node() {
  NodeValues& node = sample_.record.node;
  prev_node_ = sample_.node;
  procfs_.read(sample_.node, *clock_, scratch_, sample_.errors);
  const NodeCounters& prev = prev_node_;
  const NodeCounters& now = sample_.node;

  node.cpu_used_cores.reset();
  if (prev.cpu && now.cpu) node.cpu_used_cores = mean_cores(*prev.cpu, *now.cpu, now.cpu_at - prev.cpu_at);
  node.cpu_cores.reset();
  if (now.cpu) node.cpu_cores = now.cpu->cores;
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
  sample_.pressure = psi_.read_from(proc_, scratch_);
  const MonoTime at = clock_->mono();
  node.pressure =
      sample_.record.seq == 1 ? Pressure{} : mean_pressure(prev_pressure_, sample_.pressure, at - pressure_at_);
  pressure_at_ = at;
}

void Sampler::read_energy(double cores) {
  NodeValues& node = sample_.record.node;
  node.energy_uj.reset();
  node.idle_energy_uj.reset();
  node.unattributed_energy_uj.reset();
  node.domains.clear();
  energy_idle_uj_.reset();
  sample_.energy_gap = false;
  const double utilisation_ratio = node.cpu_used_cores ? *node.cpu_used_cores / cores : 1;

  if (rapl_) {
    node.energy_source = EnergySource::rapl;
    rapl_->read(rapl_reading_, *clock_, scratch_, sample_.errors);
    const MonoTime at = clock_->mono();
    const Duration interval = at - rapl_at_;
    rapl_at_ = at;
    sample_.rapl_uj = rapl_reading_.raw_uj;
    node.domains = rapl_reading_.domains;
    if (!rapl_reading_.total) return;
    node.energy_uj = rapl_reading_.total->energy_uj;
    sample_.energy_gap = rapl_reading_.total->gap;
    if (!sample_.energy_gap)
      idle_power_.observe(static_cast<double>(*node.energy_uj) / (seconds(interval) * 1e6), utilisation_ratio);
    const double idle_w = configured_idle_w_ ? *configured_idle_w_ : idle_power_.idle_w().value_or(0);
    energy_idle_uj_ = static_cast<std::uint64_t>(std::llround(idle_w * seconds(interval) * 1e6));
    return;
  }
  node.energy_source = EnergySource::estimated;
  if (!node.cpu_used_cores) return;
  const auto energy = estimate_energy(power_model_, utilisation_ratio, sample_.node.cpu_at - prev_node_.cpu_at);
  node.energy_uj = energy.energy_uj;
  energy_idle_uj_ = energy.idle_uj;
  node.domains.push_back({"estimated", energy.energy_uj, false});
}

void Sampler::attribute() {
  Record& record = sample_.record;
  if (!record.node.energy_uj) return;
  // The cgroup tree counts in microseconds what /proc/stat counts in ticks.
  std::uint64_t total_us = 0;
  if (cgroup_readings_.total_usage_delta_us)
    total_us = *cgroup_readings_.total_usage_delta_us;
  else if (prev_node_.cpu && sample_.node.cpu && sample_.node.cpu->busy_us >= prev_node_.cpu->busy_us)
    total_us = sample_.node.cpu->busy_us - prev_node_.cpu->busy_us;
  usage_us_.clear();
  for (const auto& workload : record.workloads) usage_us_.push_back(workload.cpu_usage_us.value_or(0));
  const auto& result = attributor_.attribute(*record.node.energy_uj, energy_idle_uj_.value_or(0), usage_us_, total_us);
  record.node.idle_energy_uj = result.idle_uj;
  record.node.unattributed_energy_uj = result.unattributed_uj;
  for (std::size_t i = 0; i < record.workloads.size(); ++i) record.workloads[i].energy_uj = result.shares_uj[i];
}

void Sampler::note_changes() {
  // One pod may have several roots (a cgroup per container): it comes with the first and goes with the last.
  const auto known = [&](const std::string& uid) {
    return std::any_of(pods_.begin(), pods_.end(), [&](const auto& pod) { return pod.second == uid; });
  };
  for (const auto& workload : sample_.record.workloads) {
    if (workload.kind != WorkloadKind::pod || workload.ended || pods_.contains(workload.cgroup_id)) continue;
    if (!known(workload.name)) sample_.changes.push_back({workload.name, workload.cgroup_id, false});
    pods_.emplace(workload.cgroup_id, workload.name);
  }
  for (const auto& workload : sample_.record.workloads) {
    if (!workload.ended || pods_.erase(workload.cgroup_id) == 0) continue;
    if (!known(workload.name)) sample_.changes.push_back({workload.name, workload.cgroup_id, true});
  }
}

std::vector<PodChange> Sampler::pods() const {
  std::vector<PodChange> all;
  for (const auto& [id, uid] : pods_) all.push_back({uid, id, false});
  return all;
}

}  // namespace wattle::agent
