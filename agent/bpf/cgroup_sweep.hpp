// cgroup_sweep: reads the kernel's counters of all cgroups in one pass.
// Source   agent/bpf/cgroup_sweep.bpf.c, an iterator over cgroups (Linux 6.1 and later, with BTF)
// Gives    one cgroup_record per cgroup at or below the top, parents first. usage_ns / 1000 is cpu.stat's usage_usec,
//          memory_pages * page is memory.current, and so on. pressure_ns / 1000 equals the .pressure file, unless
//          kCgroup_pressure_due is set: then it is the value of the last read of the file, or up to 2 s old
// Errors   denied (CAP_BPF and CAP_PERFMON are needed to open_), unsupported kernels, out_of_range (more cgroups than
//          capacity(), which only open_ can raise), exhausted (no descriptor or memory: read() can succeed later).
//          read() needs no capability
// Cost     0.2-0.8 us per cgroup;  Threads  single owner
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "agent/bpf/cgroup_record.h"
#include "agent/finding.hpp"
#include "common/dir.hpp"
#include "common/result.hpp"

namespace wattle::agent {

class CgroupSweep {
 public:
  // Has room for `least_capacity` cgroups, or for twice the current number.
  static Result<CgroupSweep> open_(const Dir& top, std::size_t least_capacity = 16'384);
  CgroupSweep(CgroupSweep&& other) noexcept;
  CgroupSweep& operator=(CgroupSweep&&) = delete;
  ~CgroupSweep();

  // Valid until the next read.
  Result<std::span<const cgroup_record>> read();
  std::size_t capacity() const { return capacity_; }

 private:
  CgroupSweep(Fd link, Fd records, Fd seen, std::size_t capacity);
  static Result<CgroupSweep> with_capacity(const Dir& top, std::size_t capacity);
  Status map_records(std::size_t count);
  void unmap();

  Fd link_, records_, seen_;
  std::size_t capacity_;
  std::uint64_t* count_ = nullptr;
  const cgroup_record* mapped_ = nullptr;
  std::size_t mapped_bytes_ = 0;
};

// `top`: the top directory, for its list of controllers.
Finding finding_of(const Result<CgroupSweep>& sweep, const Dir& top);

}  // namespace wattle::agent
