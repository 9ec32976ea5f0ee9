// Prometheus answers: any bytes parse or are refused; values are in their range, and workloads have names.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "controller/provision/prometheus_answer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto reported =
      wattle::controller::parse_prometheus(std::string_view(reinterpret_cast<const char*>(data), size), 1, "fuzz");
  if (!reported) return 0;
  for (const auto& [key, value] : reported->values)
    if (!(value >= 0 && value <= 1) || key.second.empty()) std::abort();
  return 0;
}
