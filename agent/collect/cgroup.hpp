// cgroup: measures the resource usage of each workload root over the interval.
// Source   one BPF sweep per tick (CPU time, throttling, memory and its events, pids, pressure), or the same values
//          from files that stay open (cpu.stat, memory.current, memory.events, pids.current, *.pressure). io.stat and
//          memory.stat always come from files: a fifth of the roots is read each second, an idle root each minute.
//          On hybrid machines memory, I/O, pids and throttling come from cgroup v1 (cgroup_v1). If the tree is one of
//          cgroup v1, CPU time is that of cpuacct.usage, and nothing is read from v2: no pressure, no memory events
// Gives    one WorkloadValues per living root, without the usage of roots within it (cgroup_nesting), and one, marked
//          `ended`, per root that ended since the previous tick. Roots that started and ended since then are included
//          if the lifecycle program reports them. The last usage of an ended root is the gain of its parent's counter
//          beyond the gains of the living children. A pod also has its containers' usage (cgroup_containers). Values of
//          slow files (I/O; memory events when read from files) cover the time since they were last reported and are
//          unset in between; memory_anon and memory_file are as last read
// Units    us, bytes
// Errors   the value of a missing file is unset; ENODEV ends the cgroup. The first reading gives no rate, except for a
//          cgroup created within the interval, whose counters started at 0. If a sweep fails, sweep_lost() has the
//          error and the collector reads files instead: in this tick if descriptors or memory are short, otherwise
//          until the agent restarts
// Meaning  both sources report the same values. The kernel updates pressure totals about every 2 s, or when a .pressure
//          file is read. The collector therefore reads one such file before the sweep for each root with stalls that
//          are not in the totals yet
// Cost     with a sweep: 0.3 us per cgroup and 1 pread per running root; without: 1 fstat per directory and 1 pread per
//          file
// Threads  single owner. After open_ no capability is needed; directories of new cgroups must be readable
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agent/bpf/cgroup_sweep.hpp"
#include "agent/collect/cgroup_containers.hpp"
#include "agent/collect/cgroup_short.hpp"
#include "agent/collect/cgroup_tree.hpp"
#include "agent/collect/cgroup_v1.hpp"
#include "common/clock.hpp"
#include "common/sample.hpp"

namespace wattle::agent {

struct CgroupReadings {
  std::vector<WorkloadValues> workloads;
  bool with_raw = true;                               // fill `counters` and `paths`
  std::vector<WorkloadCounters> counters;             // parallel to workloads
  std::vector<std::string> paths;                     // parallel to workloads
  std::optional<std::uint64_t> total_usage_us;        // of the whole tree, cumulative
  std::optional<std::uint64_t> total_usage_delta_us;  // over the interval
};

class CgroupCollector {
 public:
  explicit CgroupCollector(CgroupTree tree, std::optional<CgroupSweep> sweep = std::nullopt);
  // Excludes the majors of parse_stacked_majors, whose I/O the disks below report. Call before the first read.
  void leave_out(std::vector<unsigned> stacked_majors) { stacked_majors_ = std::move(stacked_majors); }
  // `cores` bounds the CPU time of a cgroup created within the interval.
  void read(CgroupReadings& out, const Clock& clock, double cores, std::span<char> scratch,
            const ShortLivedSources& short_sources = {});
  // Reads values that cgroup v2 lacks from cgroup v1; needed if the tree is one of v1.
  void use_v1(std::optional<CgroupV1> v1) { v1_ = std::move(v1); }
  const CgroupTree& tree() const { return tree_; }
  // Roots that were created and removed between the last two reads.
  std::span<const ShortLived> short_lived() const { return short_; }
  bool sweeps() const { return sweep_.has_value(); }
  // The error of the last sweep; the collector then reads files.
  const std::optional<Error>& sweep_lost() const { return sweep_lost_; }

 private:
  bool sweep();
  void ask_pressure();
  void find_controllers();
  void read_swept();
  void read_kept();
  void take_usage(CgroupNode& node, std::optional<std::uint64_t> usage_us);
  // Takes the value of cgroup v2, unless the cgroup's value comes from cgroup v1.
  void take_throttled(CgroupNode& node, std::optional<std::uint64_t> throttled_us);
  void follow_throttled(CgroupNode& node, std::optional<std::uint64_t> throttled_us);
  void read_throttled_below(CgroupNode& node);
  bool read_usage(CgroupNode& node);
  void read_node(CgroupNode& node, CgroupNode* parent);
  void read_containers(CgroupNode& node, bool ran);
  void read_roots(CgroupNode& node);
  void settle(CgroupNode& node);
  void settle_dead(CgroupNode& node, std::uint64_t left_us);
  void find_short();
  std::span<ShortLived> short_below(const CgroupNode& node);
  void report_short(const ShortLived& root);
  // Returns the next entry of `out`, with only its identity set.
  WorkloadValues& begin(std::uint64_t id, const Identity& identity, bool foreign = false);
  void end(const WorkloadCounters& raw, const std::string& path);
  void report_containers(const Identity& identity, WorkloadValues& values);
  void report_ended(const DeadRoot& dead);
  void report_dead(CgroupNode& node);

  // cgroup_root.cpp
  void read_root(CgroupNode& node, const cgroup_record* record);
  void take_record(CgroupNode& node, const cgroup_record& record, bool newborn, WorkloadValues& values);
  void read_files(CgroupNode& node);
  void read_v1(CgroupNode& node);
  void read_throttled_v1(CgroupNode& node);
  void take_io(CgroupRoot& root, const IoTotals& now, bool newborn, WorkloadValues& values);
  void read_slow(CgroupNode& node, const cgroup_record* record, bool newborn, WorkloadValues& values);

  CgroupTree tree_;
  std::optional<CgroupSweep> sweep_;
  std::optional<Error> sweep_lost_;
  std::optional<CgroupV1> v1_;
  bool v2_memory_ = true, v2_io_ = true;  // false: no cgroup of v2 has the files of this controller
  MonoTime controllers_due_;
  std::vector<unsigned> stacked_majors_;
  std::span<const cgroup_record> records_;
  std::vector<CgroupNode*> pressure_due_;  // roots whose stalls are not in the kernel's totals yet
  std::uint64_t page_bytes_;

  // State of the current tick.
  std::vector<ShortLived> short_;
  std::vector<ContainerUse> container_uses_;
  const ShortLivedSources* short_sources_ = nullptr;
  CgroupReadings* out_ = nullptr;
  const Clock* clock_ = nullptr;
  std::span<char> scratch_;
  std::size_t used_ = 0;
  std::uint64_t ticks_ = 0, first_sights_ = 0;
  double newborn_limit_us_ = 0;
  MonoTime now_;
};

}  // namespace wattle::agent
