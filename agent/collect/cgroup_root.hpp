// cgroup_root: the state of one workload root between ticks. A node may have 10,000 roots, so state that few of them
// need is allocated on demand.
// Threads  values, single owner
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "agent/collect/cgroup_files.hpp"
#include "agent/collect/cgroup_v1.hpp"
#include "agent/collect/kept_file.hpp"
#include "agent/collect/maybe_file.hpp"
#include "agent/collect/psi.hpp"
#include "common/clock.hpp"
#include "common/sample.hpp"

namespace wattle::agent {

struct WorkloadCounters {
  std::optional<std::uint64_t> cpu_usage_us;
  std::optional<IoTotals> io;
  PressureTotals pressure;
  std::optional<std::uint64_t> cpu_throttled_us;
  MemoryEvents events;
};

// Files that are unnecessary with a sweep, or that few roots need.
struct CgroupRootFiles {
  MaybeFile memory{"memory.current"}, pids{"pids.current"}, events{"memory.events"};
  PsiFiles psi = PsiFiles::of_cgroup();
  MonoTime psi_retry_at;
  KeptFile pressure{"cpu.pressure"};  // read only to make the kernel update its totals
};

// Counts of a workload that is within another or contains others. The sum is conserved: the outer workload gets what
// the inner ones leave. If an inner counter shows usage before the outer one does, the difference is subtracted
// from the outer workload's next interval.
struct CgroupNesting {
  struct Counts {
    std::uint64_t io_read_bytes = 0, io_write_bytes = 0, memory_high_events = 0, memory_oom_kills = 0;
  };
  Counts gained;              // by the whole cgroup, since the previous read
  Counts owed;                // to workloads within, beyond the cgroup's gain
  std::uint64_t owed_us = 0;  // CPU time owed in the same way
};

struct CgroupRoot {
  // Last values of the whole cgroup.
  std::optional<std::uint64_t> memory_bytes, memory_anon_bytes, memory_file_bytes, pids;
  Pressure pressure;

  WorkloadCounters raw;  // since the cgroup's creation, each as last read
  MonoTime at;           // of the pressure totals
  std::uint64_t last_delta_us = 0;
  std::optional<std::uint64_t> ended_usage_us;  // usage in the interval in which it ended

  MaybeFile io{"io.stat"}, memory_stat{"memory.stat"};
  std::unique_ptr<CgroupRootFiles> rare_files;
  std::unique_ptr<CgroupV1Files> v1_files;
  std::unique_ptr<CgroupNesting> nesting;  // null: neither within another workload nor containing one
  CgroupRootFiles& files() {
    if (!rare_files) rare_files = std::make_unique<CgroupRootFiles>();
    return *rare_files;
  }
  CgroupV1Files& of_v1() {
    if (!v1_files) v1_files = std::make_unique<CgroupV1Files>();
    return *v1_files;
  }

  MonoTime slow_at;    // when the slow files are due
  MonoTime active_at;  // last activity
  bool fresh = true;   // was never read
  bool pressure_asked = false;
};

}  // namespace wattle::agent
