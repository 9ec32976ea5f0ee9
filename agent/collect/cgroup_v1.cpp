#include "agent/collect/cgroup_v1.hpp"

#include <algorithm>

#include "agent/collect/cgroup_mount.hpp"
#include "common/parse.hpp"

namespace wattle::agent {

namespace {

std::optional<std::string_view> read_v1(const std::optional<Dir>& hierarchy, MaybeFile& file, const std::string& path,
                                        MonoTime now, std::span<char> scratch) {
  if (!hierarchy || file.is_absent(now)) return std::nullopt;
  if (file.is_open() || path.empty()) return file.read_from(*hierarchy, scratch, now);
  if (const auto dir = hierarchy->open_dir(path)) return file.read_from(*dir, scratch, now);
  file.miss(now);
  return std::nullopt;
}

std::optional<std::uint64_t> number(std::optional<std::string_view> text) {
  return text ? parse::u64(parse::trim(*text)) : std::nullopt;
}

}  // namespace

std::optional<IoTotals> parse_blkio_bytes(std::string_view text, std::span<const unsigned> stacked_majors) {
  IoTotals totals;
  bool any = false;
  parse::for_each_line(text, [&](std::string_view line) {
    const auto fields = parse::fields(line);  // "8:0 Read 4096"; the last line is "Total 4096"
    if (fields.size() != 3) return;
    any = true;
    const auto major = parse::integer<unsigned>(fields[0].substr(0, fields[0].find(':')));
    if (major && std::find(stacked_majors.begin(), stacked_majors.end(), *major) != stacked_majors.end()) return;
    const std::uint64_t bytes = parse::u64(fields[2]).value_or(0);
    if (fields[1] == "Read") totals.read_bytes += bytes;
    if (fields[1] == "Write") totals.write_bytes += bytes;
  });
  return any ? std::optional(totals) : std::nullopt;
}

MemoryUse parse_memory_stat_v1(std::string_view text) {
  return {parse::keyed_u64(text, "total_rss"), parse::keyed_u64(text, "total_cache")};
}

std::optional<std::uint64_t> parse_throttled_us_v1(std::string_view text) {
  constexpr std::uint64_t kNs_per_us = 1000;
  const auto ns = parse::keyed_u64(text, "throttled_time");
  return ns ? std::optional(*ns / kNs_per_us) : std::nullopt;
}

std::optional<CgroupV1> CgroupV1::open_(const Roots& roots) {
  CgroupV1 v1;
  v1.memory_ = open_v1_root(roots, "memory");
  v1.pids_ = open_v1_root(roots, "pids");
  v1.blkio_ = open_v1_root(roots, "blkio");
  v1.cpu_ = open_v1_root(roots, "cpu");
  if (!v1.memory_ && !v1.pids_ && !v1.blkio_ && !v1.cpu_) return std::nullopt;
  return v1;
}

std::optional<std::uint64_t> CgroupV1::memory_bytes(CgroupV1Files& files, const std::string& path, MonoTime now,
                                                    std::span<char> scratch) const {
  return number(read_v1(memory_, files.memory, path, now, scratch));
}

std::optional<std::uint64_t> CgroupV1::memory_limit_bytes(CgroupV1Files& files, const std::string& path, MonoTime now,
                                                          std::span<char> scratch) const {
  return number(read_v1(memory_, files.memory_limit, path, now, scratch));
}

std::optional<std::string_view> CgroupV1::memory_stat(CgroupV1Files& files, const std::string& path, MonoTime now,
                                                      std::span<char> scratch) const {
  return read_v1(memory_, files.memory_stat, path, now, scratch);
}

std::optional<std::uint64_t> CgroupV1::pids(CgroupV1Files& files, const std::string& path, MonoTime now,
                                            std::span<char> scratch) const {
  return number(read_v1(pids_, files.pids, path, now, scratch));
}

std::optional<IoTotals> CgroupV1::io(CgroupV1Files& files, const std::string& path,
                                     std::span<const unsigned> stacked_majors, MonoTime now,
                                     std::span<char> scratch) const {
  const auto text = read_v1(blkio_, files.io, path, now, scratch);
  return text ? parse_blkio_bytes(*text, stacked_majors) : std::nullopt;
}

std::optional<std::uint64_t> CgroupV1::throttled_us(MaybeFile& file, const std::string& path, MonoTime now,
                                                    std::span<char> scratch) const {
  const auto text = read_v1(cpu_, file, path, now, scratch);
  return text ? parse_throttled_us_v1(*text) : std::nullopt;
}

}  // namespace wattle::agent
