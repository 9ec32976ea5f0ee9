// node_cgroup: CPU, memory, disk I/O and pressure of a node that shares its kernel with other nodes (kind, LXC): those
// of the node's own cgroup, because /proc shows the whole machine.
// Source   the root of the node's cgroup v2 tree: cpu.stat, memory.current, memory.stat, memory.max, io.stat,
//          *.pressure; for controllers on cgroup v1, the files of cgroup_v1. If workloads are only on v1,
//          cpuacct.usage, and no pressure
// Gives    the fields of NodeCounters; memory in use is the working set, without inactive page cache, and the total is
//          the cgroup's limit if that is below the machine's memory
// Units    us, bytes
// Errors   not_found if no suitable hierarchy is mounted; a value whose file is missing is unset
// Cost     1 pread per file;  Threads  single owner
#pragma once

#include <optional>
#include <span>

#include "agent/collect/cgroup_mount.hpp"
#include "agent/collect/cgroup_v1.hpp"
#include "agent/collect/procfs.hpp"
#include "agent/collect/psi.hpp"
#include "agent/roots.hpp"

namespace wattle::agent {

class NodeCgroup {
 public:
  static Result<NodeCgroup> open_(const Roots& roots);
  // Replaces the machine's values in `now`; the number of cores stays.
  void read(NodeCounters& now, const Clock& clock, std::span<char> scratch);
  PressureTotals read_pressure(std::span<char> scratch) { return psi_.read_from(top_.dir, scratch); }

 private:
  NodeCgroup(CgroupTop top, std::optional<CgroupV1> v1)
      : top_(std::move(top)), v1_(std::move(v1)), cpu_(cpu_file(top_.v1)) {}
  std::optional<MemoryReading> memory_of(std::uint64_t machine_bytes, MonoTime now, std::span<char> scratch);
  std::optional<IoTotals> io_at(MonoTime now, std::span<char> scratch);

  CgroupTop top_;
  std::optional<CgroupV1> v1_;
  CgroupV1Files v1_files_;
  PsiFiles psi_ = PsiFiles::of_cgroup();
  KeptFile cpu_;
  MaybeFile memory_{"memory.current"}, memory_stat_{"memory.stat"}, memory_max_{"memory.max"}, io_{"io.stat"};
};

}  // namespace wattle::agent
