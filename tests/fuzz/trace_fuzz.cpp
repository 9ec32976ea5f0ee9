// Traces: parsed data has 288 percentages per line, pods of positive sizes and lifetimes, servers of positive watts,
// and rates within bounds; unpacked data stays within its bound.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "common/rate_trace.hpp"
#include "sim/scenarios/demand_trace.hpp"
#include "sim/scenarios/gzip.hpp"
#include "sim/scenarios/pod_sizes.hpp"
#include "sim/world/power.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wattle::sim;
  constexpr std::size_t kMost = 1 << 18;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto bytes = consolidation::gunzip(text, "fuzz", kMost); bytes && bytes->size() > kMost) std::abort();
  if (const auto day = consolidation::parse_day(text, "fuzz")) {
    if (day->machines.empty()) std::abort();
    for (const auto& machine : day->machines)
      for (const float percent : machine)
        if (!(percent >= 0 && percent <= 100)) std::abort();
  }
  if (const auto sizes = consolidation::parse_pod_sizes(text, "fuzz", 1)) {
    for (const auto& pod : *sizes)
      if (!(pod.share_of_node > 0 && pod.bytes_per_core > 0 && pod.life_s > 0)) std::abort();
  }
  if (const auto trace = wattle::parse_rates(text, "fuzz")) {
    if (trace->rates_rps.empty()) std::abort();
    for (const double rate : trace->rates_rps)
      if (!(rate >= 0 && rate <= wattle::kMostRateRps)) std::abort();
  }
  if (const auto servers = parse_servers(text, "fuzz")) {
    if (servers->empty()) std::abort();
    for (const ServerModel& server : *servers)
      for (const double watts : server.watts)
        if (!(watts > 0) || !std::isfinite(watts)) std::abort();
  }
  return 0;
}
