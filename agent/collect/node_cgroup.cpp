#include "agent/collect/node_cgroup.hpp"

#include <algorithm>
#include <utility>

#include "agent/collect/cgroup_mount.hpp"
#include "common/parse.hpp"

namespace wattle::agent {

Result<NodeCgroup> NodeCgroup::open_(const Roots& roots) {
  WATTLE_TRY(CgroupTop top, open_cgroup_top(roots));
  return NodeCgroup(std::move(top), CgroupV1::open_(roots));
}

void NodeCgroup::read(NodeCounters& now, const Clock& clock, std::span<char> scratch) {
  const auto text = cpu_.read_from(top_.dir, scratch);
  now.cpu_at = clock.mono();
  const CpuTotals totals = text ? parse_cpu(*text, top_.v1) : CpuTotals{};
  if (totals.usage_us && now.cpu)
    now.cpu->busy_us = totals.usage_us.value_or(0);
  else
    now.cpu.reset();
  if (now.memory) now.memory = memory_of(now.memory->total_bytes, now.cpu_at, scratch);
  const auto io = io_at(now.cpu_at, scratch);
  now.disk_at = clock.mono();
  now.disks.reset();
  if (io) now.disks = {IoCounters{"cgroup", io->read_bytes, io->write_bytes}};
}

std::optional<MemoryReading> NodeCgroup::memory_of(std::uint64_t machine_bytes, MonoTime now, std::span<char> scratch) {
  std::optional<std::uint64_t> used, inactive, limit;
  if (const auto text = memory_.read_from(top_.dir, scratch, now)) {
    used = parse::u64(parse::trim(*text));
    if (const auto stat = memory_stat_.read_from(top_.dir, scratch, now))
      inactive = parse::keyed_u64(*stat, "inactive_file");
    if (const auto max = memory_max_.read_from(top_.dir, scratch, now)) limit = parse::u64(parse::trim(*max));
  } else if (v1_) {
    used = v1_->memory_bytes(v1_files_, "", now, scratch);
    if (const auto stat = v1_->memory_stat(v1_files_, "", now, scratch))
      inactive = parse::keyed_u64(*stat, "total_inactive_file");
    limit = v1_->memory_limit_bytes(v1_files_, "", now, scratch);
  }
  if (!used) return std::nullopt;
  const std::uint64_t total = std::min(machine_bytes, limit.value_or(machine_bytes));
  const std::uint64_t working_set = *used - std::min(*used, inactive.value_or(0));
  return MemoryReading{total, total - std::min(total, working_set)};
}

std::optional<IoTotals> NodeCgroup::io_at(MonoTime now, std::span<char> scratch) {
  if (const auto text = io_.read_from(top_.dir, scratch, now)) return parse_io_stat(*text);
  return v1_ ? v1_->io(v1_files_, "", {}, now, scratch) : std::nullopt;
}

}  // namespace wattle::agent
