// cgroup_root: what is kept of one workload root from tick to tick. There may be 10,000, so that what most of them do not need
// is held aside.
// Threads  values, single owner
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "agent/collect/cgroup_files.hpp"
#include "agent/collect/kept_file.hpp"
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

// A file that is absent where its controller is off: asked for again now and then.
class MaybeFile {
 public:
  explicit MaybeFile(const char* name) : file_(name) {}
  bool is_open() const { return file_.is_open(); }
  void close() { file_.close(); }
  bool is_absent(MonoTime now) const { return now < retry_at_; }
  std::optional<std::string_view> read_from(const Dir& dir, std::span<char> scratch, MonoTime now) {
    if (is_absent(now)) return std::nullopt;
    if (auto text = file_.read_from(dir, scratch)) return *text;
    retry_at_ = now + kRetry;
    return std::nullopt;
  }

 private:
  static constexpr std::chrono::seconds kRetry{30};
  KeptFile file_;
  MonoTime retry_at_{Duration::min()};
};

// Files that a sweep makes needless, or that are read of few.
struct CgroupRootFiles {
  MaybeFile memory{"memory.current"}, pids{"pids.current"}, events{"memory.events"};
  PsiFiles psi = PsiFiles::of_cgroup();
  MonoTime psi_retry_at;
  KeptFile pressure{"cpu.pressure"};  // read only so that the kernel adds up
};

// Of a workload that is within another, or has others within. Every count is conserved: the outer one gets what the inner ones do
// not get, and what they had earlier than the outer one's counter showed it is taken off its next interval.
struct CgroupNesting {
  struct Counts {
    std::uint64_t io_read_bytes = 0, io_write_bytes = 0, memory_high_events = 0, memory_oom_kills = 0;
  };
  Counts gained;              // by the whole cgroup, since the read before
  Counts owed;                // to workloads within, beyond what the cgroup has gained
  std::uint64_t owed_us = 0;  // likewise CPU time
};

struct CgroupRoot {
  // Of the whole cgroup, as last read.
  std::optional<std::uint64_t> memory_bytes, memory_anon_bytes, memory_file_bytes, pids;
  Pressure pressure;

  WorkloadCounters raw;  // since the cgroup was made; what was not read again is as it was
  MonoTime at;           // of the pressure totals
  std::uint64_t last_delta_us = 0;
  std::optional<std::uint64_t> ended_usage_us;  // what it used in the interval in which it went

  MaybeFile io{"io.stat"}, memory_stat{"memory.stat"};
  std::unique_ptr<CgroupRootFiles> rare_files;
  std::unique_ptr<CgroupNesting> nesting;  // absent: it neither is within another nor has others within
  CgroupRootFiles& files() {
    if (!rare_files) rare_files = std::make_unique<CgroupRootFiles>();
    return *rare_files;
  }

  MonoTime slow_at;    // when the slow files are due
  MonoTime active_at;  // when it last did anything
  bool fresh = true;   // was never read
  bool pressure_asked = false;
};

}  // namespace wattle::agent
