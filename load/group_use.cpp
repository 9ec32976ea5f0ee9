#include "load/group_use.hpp"

#include <unistd.h>

#include <algorithm>

#include "common/parse.hpp"

namespace wattle::load {

namespace {
// Fields of PID/stat after the name, from 0; proc(5) counts the state as field 3.
constexpr std::size_t kState = 0, kGroup = 2, kUserTicks = 11, kLastTicks = 14, kResident = 21;

double ticks_per_s() {
  static const double kTicks = static_cast<double>(sysconf(_SC_CLK_TCK));
  return kTicks;
}
}  // namespace

std::optional<ProcessStat> parse_stat(std::string_view text) {
  // The name may contain blanks and parentheses.
  const std::size_t end = text.rfind(')');
  if (end == std::string_view::npos) return std::nullopt;
  const auto fields = parse::fields(text.substr(end + 1));
  if (fields.size() <= kResident || fields[kState].size() != 1) return std::nullopt;
  ProcessStat out;
  const auto group = parse::integer<pid_t>(fields[kGroup]);
  const auto resident = parse::u64(fields[kResident]);
  if (!group || !resident) return std::nullopt;
  for (std::size_t i = kUserTicks; i <= kLastTicks; ++i) {
    const auto ticks = parse::u64(fields[i]);
    if (!ticks) return std::nullopt;
    out.ticks += *ticks;
  }
  out.group = *group;
  out.state = fields[kState][0];
  out.resident_pages = *resident;
  return out;
}

double read_cpu_s(const Dir& proc, const std::vector<pid_t>& pids) {
  double sum = 0;
  for (const pid_t pid : pids) {
    const auto text = proc.read_file(std::to_string(pid) + "/stat");
    if (const auto stat = text ? parse_stat(*text) : std::nullopt)
      sum += static_cast<double>(stat->ticks) / ticks_per_s();
  }
  return sum;
}

Result<GroupUse> read_group(const Dir& proc, pid_t group) {
  static const double kPage = static_cast<double>(sysconf(_SC_PAGESIZE));
  WATTLE_TRY(const auto entries, proc.list());
  GroupUse out;
  for (const DirEntry& entry : entries) {
    const auto pid = parse::integer<pid_t>(entry.name);
    if (!pid) continue;
    const auto text = proc.read_file(entry.name + "/stat");
    const auto stat = text ? parse_stat(*text) : std::nullopt;  // the process may have ended since the listing
    if (!stat || stat->group != group || stat->state == 'Z') continue;
    out.cpu_s += static_cast<double>(stat->ticks) / ticks_per_s();
    out.resident_bytes = std::max(out.resident_bytes, static_cast<double>(stat->resident_pages) * kPage);
    out.pids.push_back(*pid);
  }
  if (out.pids.empty())
    return fail(Errc::not_found, "process group " + std::to_string(group), "all processes have ended");
  return out;
}

Result<Written> read_written(const Dir& proc, const std::vector<pid_t>& pids) {
  Written out;
  for (const pid_t pid : pids) {
    const auto text = proc.read_file(std::to_string(pid) + "/io");
    if (!text && text.error().code == Errc::denied)
      return fail(Errc::denied, text.error().subject, "cannot be read", "run as root or omit --disk");
    if (!text) continue;
    out.bytes += static_cast<double>(parse::keyed_u64(*text, "wchar:").value_or(0));
    out.storage_bytes += static_cast<double>(parse::keyed_u64(*text, "write_bytes:").value_or(0));
  }
  return out;
}

std::optional<std::uint64_t> parse_received(std::string_view net_dev, std::string_view interface) {
  std::optional<std::uint64_t> out;
  parse::for_each_line(net_dev, [&](std::string_view line) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || parse::trim(line.substr(0, colon)) != interface) return;
    if (const auto fields = parse::fields(line.substr(colon + 1)); !fields.empty()) out = parse::u64(fields[0]);
  });
  return out;
}

}  // namespace wattle::load
