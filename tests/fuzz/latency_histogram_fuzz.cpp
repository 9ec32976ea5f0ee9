// A service's metrics page: any bytes give plausible counts, or an error with the reason.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "agent/collect/latency_histogram.hpp"

using namespace wattle::agent;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view page(reinterpret_cast<const char*>(data), size);
  for (const double target_s : {0.0001, 0.1, 3600.0}) {
    for (const auto& labels : {std::map<std::string, std::string>{}, {{"a", "b"}}}) {
      const auto late = read_late_requests(page, {"h", labels, target_s});
      if (!late) {
        if (late.error().what.empty() || late.error().subject != "h") std::abort();
        continue;
      }
      if (late->over > late->count || !std::isfinite(late->bound_s) || late->bound_s > target_s * 1.001) std::abort();
    }
  }
  return 0;
}
