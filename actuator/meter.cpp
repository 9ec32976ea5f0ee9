#include "actuator/meter.hpp"

#include <algorithm>
#include <array>

#include "common/parse.hpp"
#include "common/psi.hpp"

namespace wattle::actuator {

namespace {
using Buffer = std::array<char, 8192>;

Error no_numbers(const Dir& dir, const char* file) {
  return {Errc::malformed, dir.path() + "/" + file, "lacks an expected line", ""};
}
}  // namespace

std::optional<CpuUse> parse_cpu_stat(std::string_view text) {
  CpuUse use;
  // v1 has no usage here; a v2 cgroup without the controller has only the usage.
  const auto usage = parse::keyed_u64(text, "usage_usec");
  const auto periods = parse::keyed_u64(text, "nr_periods"), throttled = parse::keyed_u64(text, "nr_throttled");
  if (!usage && !throttled) return std::nullopt;
  use.used_us = usage.value_or(0);
  use.periods = periods.value_or(0);
  use.throttled = throttled.value_or(0);
  if (const auto us = parse::keyed_u64(text, "throttled_usec"))
    use.throttled_us = *us;
  else
    use.throttled_us = parse::keyed_u64(text, "throttled_time").value_or(0) / 1000;
  return use;
}

std::optional<MemoryUse> parse_memory(std::string_view current, std::string_view stat, std::string_view events) {
  const auto bytes = parse::u64(parse::trim(current));
  const auto inactive = parse::keyed_u64(stat, "inactive_file"), high = parse::keyed_u64(events, "high");
  if (!bytes || !inactive || !high) return std::nullopt;
  MemoryUse use;
  use.current_bytes = *bytes;
  use.working_set_bytes = *bytes - std::min(*bytes, *inactive);
  use.refaults = parse::keyed_u64(stat, "workingset_refault_anon").value_or(0) +
                 parse::keyed_u64(stat, "workingset_refault_file").value_or(0);
  use.high_events = *high;
  use.low_events = parse::keyed_u64(events, "low").value_or(0);
  return use;
}

Result<Meter> Meter::open_(const CgroupLimits& limits, const Target& target) {
  WATTLE_TRY(Dir dir, limits.open_dir(target));
  Meter meter(std::move(dir));
  WATTLE_TRY(meter.cpu_stat_, meter.dir_.open_fd("cpu.stat"));
  if (target.seam == Seam::cgroup1) {
    const std::string below = target.name.substr(1);
    auto usage = meter.dir_.open_fd("cpuacct.usage");
    if (!usage && limits.mounts().cpuacct) usage = limits.mounts().cpuacct->open_fd((below + "/cpuacct.usage").c_str());
    if (!usage && limits.mounts().v2) {
      usage = limits.mounts().v2->open_fd((below + "/cpu.stat").c_str());
      meter.usage_is_v2_ = usage.has_value();
    }
    if (!usage) return forward_error(usage);
    meter.usage_ = std::move(*usage);
    return meter;
  }
  // All files or none, because the memory rule needs them together.
  auto current = meter.dir_.open_fd("memory.current"), stat = meter.dir_.open_fd("memory.stat"),
       events = meter.dir_.open_fd("memory.events");
  if (current && stat && events) {
    meter.current_ = std::move(*current);
    meter.stat_ = std::move(*stat);
    meter.events_ = std::move(*events);
    if (auto pressure = meter.dir_.open_fd("memory.pressure")) meter.pressure_ = std::move(*pressure);
  }
  return meter;
}

Result<CpuUse> Meter::cpu(bool wanted) {
  Buffer buffer;
  WATTLE_TRY(const auto text, dir_.read_once_into(cpu_stat_, "cpu.stat", buffer));
  auto use = parse_cpu_stat(text);
  if (!use) return tl::unexpected<Error>(no_numbers(dir_, "cpu.stat"));
  if (!usage_.valid()) return *use;
  use->used_us = used_us_;
  if (!wanted) return *use;
  WATTLE_TRY(const auto usage, dir_.read_once_into(usage_, usage_is_v2_ ? "cpu.stat" : "cpuacct.usage", buffer));
  const auto used = usage_is_v2_ ? parse::keyed_u64(usage, "usage_usec") : parse::u64(parse::trim(usage));
  if (!used) return tl::unexpected<Error>(no_numbers(dir_, "cpuacct.usage"));
  use->used_us = used_us_ = usage_is_v2_ ? *used : *used / 1000;
  return *use;
}

Result<std::optional<MemoryUse>> Meter::memory() const {
  if (!current_.valid()) return std::optional<MemoryUse>();
  Buffer current, stat, events;
  WATTLE_TRY(const auto bytes, dir_.read_once_into(current_, "memory.current", current));
  WATTLE_TRY(const auto pages, dir_.read_once_into(stat_, "memory.stat", stat));
  WATTLE_TRY(const auto happened, dir_.read_once_into(events_, "memory.events", events));
  auto use = parse_memory(bytes, pages, happened);
  if (!use) return tl::unexpected<Error>(no_numbers(dir_, "memory.stat"));
  if (pressure_.valid())
    if (const auto text = dir_.read_once_into(pressure_, "memory.pressure", current))
      use->stall_us = parse_psi(*text).some_us;
  return use;
}

}  // namespace wattle::actuator
