// cgroup_files: parses the files of one cgroup.
// Source   cpu.stat, io.stat, memory.stat, memory.events of cgroup v2; <proc>/devices
// Units    us, bytes, counts; cumulative except for MemoryUse
// Errors   a value that is missing in the text has no value; malformed lines count 0
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
  std::optional<std::uint64_t> throttled_us;  // set if the controller is on and throttling is possible
};
CpuTotals parse_cpu_stat(std::string_view text);

struct IoTotals {
  std::uint64_t read_bytes = 0;
  std::uint64_t write_bytes = 0;
};
// Returns from <proc>/devices the majors whose io is counted again on the disk below, or reaches no disk: device mapper
// (its number is assigned at run time), loop, zram, ramdisk. md is not included: the io of a striped array is counted
// on the array only (block/blk-cgroup.c, blk_cgroup_bio_start: the bytes of a bio are added once, and a clone's again).
std::vector<unsigned> parse_stacked_majors(std::string_view devices);
// Sums all devices except those of `stacked_majors`; a device with a malformed line counts 0. If a line has several
// names, the values belong to the last one.
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
