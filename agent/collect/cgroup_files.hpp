// cgroup_files: what the files of one cgroup say.
// Source   cpu.stat, io.stat, memory.stat, memory.events of cgroup v2; <proc>/devices
// Units    us, bytes, counts, cumulative but for MemoryUse
// Errors   what a text does not say is absent; malformed lines count nothing
// Threads  pure
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace wattle::agent {

struct CpuTotals {
  std::optional<std::uint64_t> usage_us;
  std::optional<std::uint64_t> throttled_us;  // the controller is on, and something may be throttled
};
CpuTotals parse_cpu_stat(std::string_view text);

struct IoTotals {
  std::uint64_t read_bytes = 0;
  std::uint64_t write_bytes = 0;
};
// Of <proc>/devices, the majors whose io comes again as that of the disk below, or reaches none: device mapper (its number is given at
// run time), loop, zram, ramdisk. Not md: what a striped array passes on is told of the array alone (block/blk-cgroup.c,
// blk_cgroup_bio_start: the bytes of a bio are added once, and a clone's again).
std::vector<unsigned> parse_stacked_majors(std::string_view devices);
// Summed over devices but those of `stacked_majors`; a device whose line is malformed counts nothing. Where several names stand in a
// line, the values are the last one's.
IoTotals parse_io_stat(std::string_view text, std::span<const unsigned> stacked_majors = {});

struct MemoryUse {
  std::optional<std::uint64_t> anon_bytes, file_bytes;
};
MemoryUse parse_memory_stat(std::string_view text);

struct MemoryEvents {
  std::optional<std::uint64_t> high, oom_kills;
};
MemoryEvents parse_memory_events(std::string_view text);

}  // namespace wattle::agent
