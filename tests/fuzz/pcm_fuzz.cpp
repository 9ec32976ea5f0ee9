// PCM answers and addresses: any bytes give plausible values or none. A truncated document is never an answer, because
// half of the sockets would count as all.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "agent/collect/pcm_answer.hpp"

using namespace wattle::agent;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto endpoint = parse_pcm_endpoint(text)) {
    if (endpoint->host.empty() || endpoint->port == 0) std::abort();
    if (endpoint->host.find_first_of("/?#@ []") != std::string::npos) std::abort();
  }
  const auto answer = parse_pcm(text);
  if (!answer) return 0;
  if (answer->sockets.empty() || answer->sockets.size() > 64 || !(answer->interval_us > 0)) std::abort();
  for (const auto& socket : answer->sockets) {
    for (const auto& value : {socket.package_j, socket.dram_j, socket.dram_read_bytes, socket.dram_write_bytes,
                              socket.cycles, socket.reference_cycles, socket.tsc_cycles, socket.frequency_hz})
      if (value && (!std::isfinite(*value) || *value < 0)) std::abort();
    for (const auto& ratio : socket.package_c_state_ratios)
      if (ratio && !(*ratio >= 0 && *ratio <= 1)) std::abort();
    if (const auto frequency_hz = mean_frequency_hz(socket, answer->interval_us))
      if (!std::isfinite(*frequency_hz) || *frequency_hz < 0) std::abort();
  }
  const auto end = text.rfind('}');
  if (end == std::string_view::npos || parse_pcm(text.substr(0, end))) std::abort();
  return 0;
}
