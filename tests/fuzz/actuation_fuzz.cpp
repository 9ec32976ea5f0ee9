// Messages of the actuator's socket and the journal of originals with arbitrary bytes; the first byte selects one.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "actuator/cgroup_limits.hpp"
#include "actuator/journal.hpp"
#include "actuator/meter.hpp"
#include "actuator/node_load.hpp"
#include "common/actuation.hpp"

using namespace wattle;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 4) {
    case 0:
      if (const auto orders = actuation::parse_orders(text))
        if (*actuation::parse_orders(actuation::to_text(*orders)) != *orders) std::abort();
      break;
    case 1:
      if (const auto report = actuation::parse_report(text))
        if (*actuation::parse_report(actuation::to_text(*report)) != *report) std::abort();
      break;
    case 2: {
      const auto journal = actuator::parse_journal(text);
      for (const auto& [target, knobs] : journal.records.all())
        if (target.name.empty()) std::abort();
      break;
    }
    default:
      if (const auto limit = actuator::parse_limit(text); limit && *limit < 0) std::abort();
      if (const auto period = actuator::parse_period_us(text); period && *period <= 0) std::abort();
      actuator::parse_cpu_stat(text);
      actuator::parse_proc_stat(text);
      actuator::parse_online_cpus(text);
      if (const auto use = actuator::parse_memory("4096", text, text))
        if (use->working_set_bytes > use->current_bytes) std::abort();
  }
  return 0;
}
