#include "agent/collect/cgroup_v1.hpp"

#include <algorithm>

#include "agent/collect/cgroup_mount.hpp"
#include "common/parse.hpp"

namespace wattle::agent {

namespace {

std::optional<std::uint64_t> number(std::optional<std::string_view> text) {
  return text ? parse::u64(parse::trim(*text)) : std::nullopt;
}

}  // namespace

std::optional<IoTotals> parse_blkio_bytes(std::string_view text, std::span<const unsigned> stacked_majors) {
  IoTotals totals;
  bool any = false;
  parse::for_each_line(text, [&](std::string_view line) {
    const auto fields = parse::fields(line);                    // "8:0 Read 4096"; the last line is "Total 4096"
    any = any || (fields.size() == 2 && fields[0] == "Total");  // a cgroup without I/O has no line of a device
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

bool CgroupV1::Hierarchy::lacks_parent_of(const std::string& path, MonoTime now) const {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos || slash == 0) return false;
  const std::string_view above = std::string_view(path).substr(0, slash);
  if (above != parent || now != looked_at) {
    parent = above;
    looked_at = now;
    missing = !dir->exists(parent);
  }
  return missing;
}

std::optional<std::string_view> CgroupV1::Hierarchy::read(MaybeFile& file, const std::string& path, MonoTime now,
                                                          std::span<char> scratch) const {
  if (!dir || file.is_absent(now)) return std::nullopt;
  if (file.is_open() || path.empty()) return file.read_from(*dir, scratch, now);
  if (!lacks_parent_of(path, now))
    if (const auto found = dir->open_dir(path)) return file.read_from(*found, scratch, now);
  file.miss(now);
  return std::nullopt;
}

std::optional<CgroupV1> CgroupV1::open_(const Roots& roots) {
  CgroupV1 v1;
  bool any = false;
  const auto open = [&](Hierarchy& hierarchy, std::string_view controller) {
    hierarchy.dir = open_v1_root(roots, controller);
    any = any || hierarchy.dir;
  };
  open(v1.memory_, "memory");
  open(v1.pids_, "pids");
  open(v1.blkio_, "blkio");
  open(v1.cpu_, "cpu");
  if (!any) return std::nullopt;
  return v1;
}

std::optional<std::uint64_t> CgroupV1::memory_bytes(CgroupV1Files& files, const std::string& path, MonoTime now,
                                                    std::span<char> scratch) const {
  return number(memory_.read(files.memory, path, now, scratch));
}

std::optional<std::uint64_t> CgroupV1::memory_limit_bytes(CgroupV1Files& files, const std::string& path, MonoTime now,
                                                          std::span<char> scratch) const {
  return number(memory_.read(files.memory_limit, path, now, scratch));
}

std::optional<std::string_view> CgroupV1::memory_stat(CgroupV1Files& files, const std::string& path, MonoTime now,
                                                      std::span<char> scratch) const {
  return memory_.read(files.memory_stat, path, now, scratch);
}

std::optional<std::uint64_t> CgroupV1::pids(CgroupV1Files& files, const std::string& path, MonoTime now,
                                            std::span<char> scratch) const {
  return number(pids_.read(files.pids, path, now, scratch));
}

std::optional<IoTotals> CgroupV1::io(CgroupV1Files& files, const std::string& path,
                                     std::span<const unsigned> stacked_majors, MonoTime now,
                                     std::span<char> scratch) const {
  const auto text = blkio_.read(files.io, path, now, scratch);
  return text ? parse_blkio_bytes(*text, stacked_majors) : std::nullopt;
}

std::optional<std::uint64_t> CgroupV1::throttled_us(MaybeFile& file, const std::string& path, MonoTime now,
                                                    std::span<char> scratch) const {
  const auto text = cpu_.read(file, path, now, scratch);
  return text ? parse_throttled_us_v1(*text) : std::nullopt;
}

}  // namespace wattle::agent
