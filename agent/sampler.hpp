// sampler: reads all collectors at a tick into one Record.
// Gives    the record for the controller, its cumulative counters, and the pods that started and ended
// Errors   a failed collector leaves its values without a reading and reports its error in Sample::errors. A value that
//          is not finite is handled in the same way, because a controller would refuse the record and all later ones
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
#include "agent/collect/cgroup_mount.hpp"
#include "agent/collect/energy.hpp"
#include "agent/collect/node_cgroup.hpp"
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
  std::vector<WorkloadCounters> workloads;                     // cumulative, in the order of record.workloads
  std::vector<std::string> paths;                              // in the order of record.workloads
  std::vector<PodChange> changes;
  std::optional<Finding> lost;  // in this tick, because the agent changed to cgroup v1
  std::vector<std::pair<std::string, Error>> errors;
  bool energy_gap = false;
};

class Sampler {
 public:
  // Fails only if /proc cannot be opened; findings() reports every other loss.
  static Result<Sampler> open_(const AgentConfig& config, const Clock& clock, std::uint64_t incarnation);
  Sampler(Sampler&&) noexcept = default;

  // Leaves Sample::workloads and paths empty: they take megabytes on a large node, and only `sample` shows them.
  void leave_out_raw() { cgroup_readings_.with_raw = false; }
  // The result is valid until the next tick.
  const Sample& tick();
  // Returns the last sample, with the current results of the probes.
  const Sample& with_probes(std::vector<ProbeValues> probes);
  // Returns the living pods, to report them again.
  std::vector<PodChange> pods() const;
  const std::vector<Finding>& findings() const { return findings_; }
  // Speed of the last sample's interfaces as the kernel reports it; 0: unknown.
  double link_bytes_per_s() const;
  // Adds a finding of another component.
  void note(Finding finding) { findings_.push_back(std::move(finding)); }
  const PowerModel& power_model() const { return energy_.power_model(); }
  const EnergyMeter& energy_meter() const { return energy_; }

 private:
  Sampler(const Clock& clock, Procfs procfs, Dir proc, EnergyMeter energy);
  void use_cgroups(CgroupTop top, std::optional<CgroupSweep> sweep);
  void look_for_v1_pods();
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
  std::optional<NodeCgroup> own_;  // of a nested node
  Roots roots_;
  std::vector<std::string> pod_parents_;
  std::optional<CgroupCollector> cgroups_;
  MonoTime look_for_v1_pods_at_;
  std::optional<CgroupLifecycle> lifecycle_;
  std::uint64_t lifecycle_lost_ = 0;
  EnergyMeter energy_;
  std::optional<KernelSignals> signals_;
  RootIndex root_index_;
  Attributor attributor_;
  std::vector<Finding> findings_;

  std::unique_ptr<char[]> memory_;
  std::span<char> scratch_;  // view of memory_
  Sample sample_;
  NodeCounters prev_node_;
  PressureTotals prev_pressure_;
  MonoTime pressure_at_, before_readings_, after_readings_;
  CgroupReadings cgroup_readings_;
  std::vector<CpuUse> uses_;
  std::map<std::uint64_t, std::string> pods_;  // cgroup id -> pod UID
  std::vector<EnergyPool> pools_;              // of the current interval
};

}  // namespace wattle::agent
