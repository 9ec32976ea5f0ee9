#include "agent/collect/cgroup_v1.hpp"

#include <algorithm>

#include "agent/collect/cgroup_mount.hpp"
#include "common/parse.hpp"

namespace wattle::agent {

namespace {

constexpr std::uint64_t kNs_per_us = 1000;

std::optional<std::uint64_t> number(std::optional<std::string_view> text) {
  return text ? parse::u64(parse::trim(*text)) : std::nullopt;
}

// Sums the I/O of a cgroup and of those below.
std::optional<IoTotals> io_at_or_below(const Dir& dir, std::span<const unsigned> stacked_majors, int level = 0) {
  constexpr int kMost_levels = 32;
  const auto text = dir.read_file("blkio.throttle.io_service_bytes");
  auto sum = text ? parse_blkio_bytes(*text, stacked_majors) : std::nullopt;
  const auto entries = dir.list();
  if (!entries || level == kMost_levels) return sum;
  for (const auto& entry : *entries) {
    const auto child = entry.is_dir ? dir.open_dir(entry.name) : Result<Dir>(fail(Errc::not_found, "", ""));
    const auto below = child ? io_at_or_below(*child, stacked_majors, level + 1) : std::nullopt;
    if (!below) continue;
    if (!sum) sum.emplace();
    sum->read_bytes += below->read_bytes;
    sum->write_bytes += below->write_bytes;
  }
  return sum;
}

}  // namespace

std::optional<IoTotals> parse_blkio_bytes(std::string_view text, std::span<const unsigned> stacked_majors) {
  IoTotals totals;
  bool any = false;
  parse::for_each_line(text, [&](std::string_view line) {
    const auto fields = parse::fields(line);                    // "8:0 Read 4096"; the last line is "Total 4096"
    any = any || (fields.size() == 2 && fields[0] == "Total");  // a cgroup without I/O has no line of a device
    if (fields.size() != 3) return;
    const auto major = parse::integer<unsigned>(fields[0].substr(0, fields[0].find(':')));
    if (!major) return;
    any = true;
    if (std::find(stacked_majors.begin(), stacked_majors.end(), *major) != stacked_majors.end()) return;
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
  const auto ns = parse::keyed_u64(text, "throttled_time");
  return ns ? std::optional(*ns / kNs_per_us) : std::nullopt;
}

CpuTotals parse_cpu(std::string_view text, bool v1) {
  if (!v1) return parse_cpu_stat(text);
  const auto ns = parse::u64(parse::trim(text));
  return {ns ? std::optional(*ns / kNs_per_us) : std::nullopt, std::nullopt};
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
  if (v1.blkio_.dir) v1.recursive_io_ = v1.blkio_.dir->exists("blkio.throttle.io_service_bytes_recursive");
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
  if (!recursive_io_) {
    const auto dir = blkio_.dir->open_dir(path.empty() ? "." : path);
    return dir ? io_at_or_below(*dir, stacked_majors) : std::nullopt;
  }
  const auto text = blkio_.read(files.io, path, now, scratch);
  return text ? parse_blkio_bytes(*text, stacked_majors) : std::nullopt;
}

std::optional<std::uint64_t> CgroupV1::throttled_us(MaybeFile& file, const std::string& path, MonoTime now,
                                                    std::span<char> scratch) const {
  const auto text = cpu_.read(file, path, now, scratch);
  return text ? parse_throttled_us_v1(*text) : std::nullopt;
}

}  // namespace wattle::agent
