// cgroup_v1: reads memory, I/O, pids and throttling of a cgroup from the hierarchies of cgroup v1. On hybrid machines
// cgroup v2 has no controllers; on others the workloads are only on v1 (CgroupTop::v1).
// Source   memory.usage_in_bytes, memory.stat, pids.current, cpu.stat, blkio.throttle.io_service_bytes_recursive; on
//          kernels before 4.16 the sum of blkio.throttle.io_service_bytes over the cgroup and those below. A container
//          runtime gives a cgroup the same path in each hierarchy. The file of CPU time is that of the tree
// Units    bytes, counts, us; I/O and throttling are cumulative
// Errors   a value whose hierarchy or file is missing is unset
// Meaning  memory includes the page cache, as in cgroup v2. I/O lacks buffered writes: the kernel charges them to the
//          root of cgroup v1. The sum falls when a container ends, and that interval has no I/O. Memory events are not
//          read: v1 counts OOM kills only in the killed container, which is removed soon after
// Cost     1 pread per value; the files stay open. A missing parent is looked for once for all cgroups below it
// Threads  single owner
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "agent/collect/cgroup_files.hpp"
#include "agent/collect/maybe_file.hpp"
#include "agent/roots.hpp"
#include "common/dir.hpp"

namespace wattle::agent {

// Sums all devices except those of `stacked_majors`. No value without a device: the kernel lists none before the first
// I/O, and Linux 6.10 and later count only where a limit is set (block/blk-throttle.c).
std::optional<IoTotals> parse_blkio_bytes(std::string_view text, std::span<const unsigned> stacked_majors = {});
// anon: total_rss; file: total_cache
MemoryUse parse_memory_stat_v1(std::string_view text);
// cpu.stat of cgroup v1, in which throttled_time has nanoseconds. No value without that line.
std::optional<std::uint64_t> parse_throttled_us_v1(std::string_view text);

// The file of CPU time in a tree of cgroup v1 or v2, and its values; cpuacct.usage has nanoseconds.
constexpr const char* cpu_file(bool v1) { return v1 ? "cpuacct.usage" : "cpu.stat"; }
CpuTotals parse_cpu(std::string_view text, bool v1);

// The open files of one cgroup.
struct CgroupV1Files {
  MaybeFile memory{"memory.usage_in_bytes"}, memory_stat{"memory.stat"}, memory_limit{"memory.limit_in_bytes"};
  MaybeFile pids{"pids.current"}, io{"blkio.throttle.io_service_bytes_recursive"};
};

class CgroupV1 {
 public:
  // No value if no mounted hierarchy has one of these controllers.
  static std::optional<CgroupV1> open_(const Roots& roots);

  // `path` is that of the cgroup in its tree, "" for the root.
  std::optional<std::uint64_t> memory_bytes(CgroupV1Files& files, const std::string& path, MonoTime now,
                                            std::span<char> scratch) const;
  std::optional<std::uint64_t> memory_limit_bytes(CgroupV1Files& files, const std::string& path, MonoTime now,
                                                  std::span<char> scratch) const;
  std::optional<std::string_view> memory_stat(CgroupV1Files& files, const std::string& path, MonoTime now,
                                              std::span<char> scratch) const;
  std::optional<std::uint64_t> pids(CgroupV1Files& files, const std::string& path, MonoTime now,
                                    std::span<char> scratch) const;
  std::optional<IoTotals> io(CgroupV1Files& files, const std::string& path, std::span<const unsigned> stacked_majors,
                             MonoTime now, std::span<char> scratch) const;
  std::optional<std::uint64_t> throttled_us(MaybeFile& file, const std::string& path, MonoTime now,
                                            std::span<char> scratch) const;
  // True if the machine has a v1 hierarchy with the CPU controller.
  bool throttles() const { return cpu_.dir.has_value(); }

 private:
  struct Hierarchy {
    std::optional<Dir> dir;
    // The parent of the cgroup that was looked for last, at `looked_at`, and whether it is missing.
    mutable std::string parent;
    mutable MonoTime looked_at{Duration::min()};
    mutable bool missing = false;

    bool lacks_parent_of(const std::string& path, MonoTime now) const;
    std::optional<std::string_view> read(MaybeFile& file, const std::string& path, MonoTime now,
                                         std::span<char> scratch) const;
  };
  Hierarchy memory_, pids_, blkio_, cpu_;
  bool recursive_io_ = true;  // false: before Linux 4.16
};

}  // namespace wattle::agent
