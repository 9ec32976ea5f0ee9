// cgroup: what each workload root used over the interval.
// Source   either one BPF sweep a tick (CPU time, throttling, memory, its events, pids, pressure) or the same values from
//          kept files (cpu.stat, memory.current, memory.events, pids.current, *.pressure); and by files alone io.stat and
//          memory.stat, of which a fifth of the roots are read each second, and of one that is idle each minute
// Gives    one WorkloadValues per living root, less what roots within it have (cgroup_nesting), and one, marked `ended`, per root
//          that went since the tick before, also of one that came since then, where the lifecycle program reports it. What an
//          ended root still used is what its parent's counter gained beyond the living children's gains. Of a pod also what
//          its containers used (cgroup_containers). Values of slow
//          files (io, and by files memory events): what came since they were told last, absent in between; memory_anon
//          and memory_file are as last read
// Units    us, bytes
// Errors   a file that is missing is absent; ENODEV ends the cgroup. A first sight gives no rate, except of a cgroup that
//          was born within the interval: its counters began at 0 then. A sweep that fails is told, and files take over
// Meaning  both sources tell the same. Pressure: the kernel adds its totals up about every 2 s, or when a .pressure file
//          is read; so for a root with stalls to be added one such file is read before the sweep
// Cost     a sweep: 0.3 us per cgroup and 1 pread per root that runs; without: 1 fstat per directory and 1 pread per file
// Threads  single owner. After open_ no capability is needed; new cgroups' directories must be readable, as they are
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
#include "common/clock.hpp"
#include "common/sample.hpp"

namespace wattle::agent {

struct CgroupReadings {
  std::vector<WorkloadValues> workloads;
  bool with_raw = true;                               // whether these two are wanted
  std::vector<WorkloadCounters> counters;             // as workloads
  std::vector<std::string> paths;                     // as workloads
  std::optional<std::uint64_t> total_usage_us;        // of the whole tree, cumulative
  std::optional<std::uint64_t> total_usage_delta_us;  // over the interval
};

class CgroupCollector {
 public:
  explicit CgroupCollector(CgroupTree tree, std::optional<CgroupSweep> sweep = std::nullopt);
  // Majors of parse_stacked_majors, before the first read: their io is told of the disks below.
  void leave_out(std::vector<unsigned> stacked_majors) { stacked_majors_ = std::move(stacked_majors); }
  // `cores` bounds what a newborn can have used.
  void read(CgroupReadings& out, const Clock& clock, double cores, std::span<char> scratch,
            const ShortLivedSources& short_sources = {});
  const CgroupTree& tree() const { return tree_; }
  // Those of the last read that were born and removed since the read before.
  std::span<const ShortLived> short_lived() const { return short_; }
  bool sweeps() const { return sweep_.has_value(); }
  // Why the sweep that was given is no longer used.
  const std::optional<Error>& sweep_lost() const { return sweep_lost_; }

 private:
  bool sweep();
  void ask_pressure();
  void read_swept();
  void read_kept();
  void take_usage(CgroupNode& node, std::optional<std::uint64_t> usage_us);
  void take_throttled(CgroupNode& node, std::optional<std::uint64_t> throttled_us);
  void read_throttled_below(CgroupNode& node);
  bool read_usage(CgroupNode& node);
  void read_node(CgroupNode& node, CgroupNode* parent);
  void read_containers(CgroupNode& node, bool ran);
  void read_roots(CgroupNode& node);
  void settle(CgroupNode& node);
  void settle_dead(CgroupNode& node, std::uint64_t left_us);
  void find_short();
  std::span<ShortLived> short_below(const CgroupNode& node);
  void tell_short(const ShortLived& root);
  // The next place, with nothing in it but whose it is.
  WorkloadValues& begin(std::uint64_t id, const Identity& identity, bool foreign = false);
  void end(const WorkloadCounters& raw, const std::string& path);
  void tell_containers(const Identity& identity, WorkloadValues& values);
  void tell_ended(const DeadRoot& dead);
  void tell_dead(CgroupNode& node);

  // cgroup_root.cpp
  void read_root(CgroupNode& node, const cgroup_record* record);
  void take_record(CgroupNode& node, const cgroup_record& record, bool newborn, WorkloadValues& values);
  void read_files(CgroupNode& node);
  void read_slow(CgroupNode& node, const cgroup_record* record, bool newborn, WorkloadValues& values);

  CgroupTree tree_;
  std::optional<CgroupSweep> sweep_;
  std::optional<Error> sweep_lost_;
  std::vector<unsigned> stacked_majors_;
  std::span<const cgroup_record> records_;
  std::vector<CgroupNode*> pressure_due_;  // roots whose stalls the kernel has yet to add up
  std::uint64_t page_bytes_;

  // of the tick that runs
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
