// sampler: one tick of all collectors, as one Record.
// Gives    the record that the wire carries, the counters behind it, and the pods that came and went
// Errors   a collector that fails leaves its own values absent; its error is told in Sample::errors. So does one whose number is
//          not finite: no controller would take the record, nor anything behind it
// Threads  single owner
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "agent/attribute/attribute.hpp"
#include "agent/bpf/cgroup_lifecycle.hpp"
#include "agent/bpf/kernel_signals.hpp"
#include "agent/collect/cgroup.hpp"
#include "agent/collect/energy.hpp"
#include "agent/collect/procfs.hpp"
#include "agent/collect/psi.hpp"
#include "agent/config.hpp"
#include "agent/doctor.hpp"
#include "common/clock.hpp"
#include "common/sample.hpp"

namespace wattle::agent {

struct PodChange {
  std::string uid;
  std::uint64_t cgroup_id = 0;
  bool gone = false;
};

struct Sample {
  Record record;
  NodeCounters node;                                           // cumulative
  PressureTotals pressure;                                     // cumulative
  std::optional<std::uint64_t> cgroup_usage_us;                // of the whole tree, cumulative
  std::vector<std::pair<std::string, std::uint64_t>> rapl_uj;  // zone label, counter
  std::vector<WorkloadCounters> workloads;                     // cumulative, as record.workloads
  std::vector<std::string> paths;                              // as record.workloads
  std::vector<PodChange> changes;
  std::vector<std::pair<std::string, Error>> errors;
  bool energy_gap = false;
};

class Sampler {
 public:
  // Only a /proc that cannot be opened is an error; every other loss is told by findings().
  static Result<Sampler> open_(const AgentConfig& config, const Clock& clock, std::uint64_t incarnation);
  Sampler(Sampler&&) noexcept = default;

  // Leaves Sample::workloads and paths empty: megabytes on a large node, which only `sample` shows.
  void leave_out_raw() { cgroup_readings_.with_raw = false; }
  // The value lives until the next tick.
  const Sample& tick();
  // The last sample, with what the probes have found until now.
  const Sample& with_probes(std::vector<ProbeValues> probes);
  // Living pods, for telling them all again.
  std::vector<PodChange> pods() const;
  const std::vector<Finding>& findings() const { return findings_; }
  // Of the interfaces of the last sample, as they say themselves; 0: unknown.
  double link_bytes_per_s() const;
  // What was found beside the sources.
  void note(Finding finding) { findings_.push_back(std::move(finding)); }
  // Null where no BPF program could be loaded, or none was asked for.
  const KernelSignals* kernel_signals() const { return signals_ ? &*signals_ : nullptr; }
  const PowerModel& power_model() const { return energy_.power_model(); }
  const EnergyMeter& energy_meter() const { return energy_; }

 private:
  Sampler(const Clock& clock, Procfs procfs, Dir proc, EnergyMeter energy);
  void read_node();
  void read_energy(double cores);
  void read_kernel_signals();
  void attribute();
  void read_cgroups(double cores);
  void note_left_out(std::size_t numbers);
  void note_changes();

  const Clock* clock_;
  Procfs procfs_;
  Dir proc_;
  PsiFiles psi_ = PsiFiles::of_node();
  std::optional<CgroupCollector> cgroups_;
  std::optional<CgroupLifecycle> lifecycle_;
  std::uint64_t lifecycle_lost_ = 0;
  EnergyMeter energy_;
  std::optional<KernelSignals> signals_;
  RootIndex root_index_;
  Attributor attributor_;
  std::vector<Finding> findings_;

  std::unique_ptr<char[]> memory_;
  std::span<char> scratch_;  // all of it
  Sample sample_;
  NodeCounters prev_node_;
  PressureTotals prev_pressure_;
  MonoTime pressure_at_, tick_at_;
  CgroupReadings cgroup_readings_;
  std::vector<CpuUse> uses_;
  std::map<std::uint64_t, std::string> pods_;  // cgroup id -> pod UID
  std::vector<EnergyPool> pools_;              // of the interval
};

}  // namespace wattle::agent
