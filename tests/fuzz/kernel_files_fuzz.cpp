// Kernel files with arbitrary bytes: the first byte selects the parser, the rest is the file.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "agent/collect/cgroup_files.hpp"
#include "agent/collect/cgroup_v1.hpp"
#include "agent/collect/estimate.hpp"
#include "agent/collect/procfs.hpp"
#include "agent/collect/psi.hpp"
#include "common/mounts.hpp"
#include "common/parse.hpp"

using namespace wattle::agent;

namespace {
void require(bool holds) {
  if (!holds) std::abort();
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Accept all = [](std::string_view name) { return !name.empty(); };
  std::vector<IoCounters> counters;
  switch (data[0] % 16) {
    case 0:
      if (const auto cpu = parse_stat(text, 100)) require(cpu->cores > 0);
      break;
    case 1:
      if (const auto memory = parse_meminfo(text)) require(memory->available_bytes <= memory->total_bytes);
      break;
    case 2:
      parse_net_dev(text, all, counters);
      for (const auto& one : counters) require(!one.name.empty());
      break;
    case 3:
      parse_diskstats(text, all, counters);
      for (const auto& one : counters) require(!one.name.empty());
      break;
    case 4:
      parse_snmp(text);
      break;
    case 5: {
      const wattle::PsiTotals totals = wattle::parse_psi(text);
      const auto ratio = mean_ratio(totals.full_us, totals.some_us, std::chrono::seconds(1));
      require(!ratio || (*ratio >= 0 && *ratio <= 1));
      break;
    }
    case 6:
      wattle::parse_mountinfo(text, "cgroup2");
      break;
    case 7:
      parse_io_stat(text, parse_stacked_majors(text));
      break;
    case 8:
      if (const auto cpu = parse_cpuinfo(text)) require(table_model(cpu, 2).max_w > 0);
      break;
    case 9: {
      const CpuTotals totals = parse_cpu_stat(text);
      require(!totals.usage_us || text.find("usage_usec ") != std::string_view::npos);
      break;
    }
    case 10: {
      const MemoryUse use = parse_memory_stat(text);
      require(!use.anon_bytes || text.find("anon ") != std::string_view::npos);
      break;
    }
    case 11: {
      const MemoryEvents events = parse_memory_events(text);
      require(!events.oom_kills || text.find("oom_kill ") != std::string_view::npos);
      break;
    }
    case 12:
      if (parse_blkio_bytes(text, parse_stacked_majors(text))) require(parse_blkio_bytes(text).has_value());
      break;
    case 13: {
      const MemoryUse use = parse_memory_stat_v1(text);
      require(!use.anon_bytes || text.find("total_rss ") != std::string_view::npos);
      break;
    }
    case 14:
      require(!parse_throttled_us_v1(text) || text.find("throttled_time ") != std::string_view::npos);
      break;
    case 15: {
      const CpuTotals totals = parse_cpu(text, true);
      require(!totals.throttled_us && (!totals.usage_us || *totals.usage_us <= UINT64_MAX / 1000));
      break;
    }
  }
  return 0;
}
