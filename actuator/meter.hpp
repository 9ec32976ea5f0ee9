// meter: usage of one workload, and the effect of its limits on it.
// Source   v2: cpu.stat, memory.{current,stat,events,pressure}; v1: cpu.stat and cpuacct.usage (or cpu.stat of the same
//          path in a hybrid v2 tree); memory only in v2. Descriptors stay open
// Units    us, bytes, counts; cumulative except for bytes
// Errors   not_found: the cgroup is gone; malformed
// Cost     1 pread for CPU (v1: 2), 4 for memory;  Threads  single owner
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "actuator/cgroup_limits.hpp"
#include "common/dir.hpp"

namespace wattle::actuator {

struct CpuUse {
  std::uint64_t used_us = 0, periods = 0, throttled = 0;
  std::uint64_t throttled_us = 0;  // sum over CPUs; counted when the throttling ends
};

struct MemoryUse {
  std::uint64_t current_bytes = 0;
  std::uint64_t working_set_bytes = 0;          // without file pages that were not used recently
  std::uint64_t refaults = 0;                   // pages read again soon after they were reclaimed
  std::uint64_t high_events = 0;                // allocations that memory.high delayed
  std::optional<std::uint64_t> stall_us;        // time in which some task waited for memory, even if throttled
  std::uint64_t used_us = 0, throttled_us = 0;  // CPU time as in CpuUse; filled in by the caller
  std::uint64_t low_events = 0;                 // times that the kernel reclaimed pages below memory.low
};

// No value if a required line is missing.
std::optional<CpuUse> parse_cpu_stat(std::string_view text);
std::optional<MemoryUse> parse_memory(std::string_view current, std::string_view stat, std::string_view events);

class Meter {
 public:
  static Result<Meter> open_(const CgroupLimits& limits, const Target& target);
  // v1 has the usage in a separate file, which is read only if `wanted`; otherwise the last value is used.
  Result<CpuUse> cpu(bool wanted = true);
  // No value if the cgroup has no v2 memory controller.
  Result<std::optional<MemoryUse>> memory() const;

 private:
  explicit Meter(Dir dir) : dir_(std::move(dir)) {}
  Dir dir_;
  Fd cpu_stat_, usage_;  // usage_: only v1
  bool usage_is_v2_ = false;
  std::uint64_t used_us_ = 0;
  Fd current_, stat_, events_, pressure_;
};

}  // namespace wattle::actuator
