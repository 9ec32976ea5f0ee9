#include "agent/collect/cgroup_files.hpp"

#include <algorithm>

#include "common/parse.hpp"

namespace wattle::agent {

CpuTotals parse_cpu_stat(std::string_view text) {
  return {parse::keyed_u64(text, "usage_usec"), parse::keyed_u64(text, "throttled_usec")};
}

std::vector<unsigned> parse_stacked_majors(std::string_view devices) {
  std::vector<unsigned> majors;
  bool block = false;
  parse::for_each_line(devices, [&](std::string_view line) {
    if (line.starts_with("Block devices:")) block = true;
    const auto fields = parse::fields(line);
    if (!block || fields.size() != 2) return;
    const auto is = [&](std::string_view name) { return fields[1] == name; };
    const auto major = parse::integer<unsigned>(fields[0]);
    if (major && (is("device-mapper") || is("loop") || is("zram") || is("ramdisk"))) majors.push_back(*major);
  });
  return majors;
}

IoTotals parse_io_stat(std::string_view text, std::span<const unsigned> stacked_majors) {
  IoTotals totals;
  parse::for_each_line(text, [&](std::string_view line) {
    const auto value = [&](std::string_view key) -> std::optional<std::uint64_t> {
      const auto at = line.find(key);
      if (at == std::string_view::npos) return std::nullopt;
      const auto rest = line.substr(at + key.size());
      return parse::u64(rest.substr(0, rest.find(' ')));
    };
    const auto read = value(" rbytes="), write = value(" wbytes=");
    if (!read || !write) return;
    const auto names = line.substr(0, line.find(" rbytes="));
    const auto name = names.substr(names.rfind(' ') + 1);
    const auto major = parse::integer<unsigned>(name.substr(0, name.find(':')));
    if (major && std::find(stacked_majors.begin(), stacked_majors.end(), *major) != stacked_majors.end()) return;
    totals.read_bytes += *read;
    totals.write_bytes += *write;
  });
  return totals;
}

MemoryUse parse_memory_stat(std::string_view text) {
  return {parse::keyed_u64(text, "anon"), parse::keyed_u64(text, "file")};
}

MemoryEvents parse_memory_events(std::string_view text) {
  return {parse::keyed_u64(text, "high"), parse::keyed_u64(text, "oom_kill")};
}

}  // namespace wattle::agent
