// IP networks of the configuration: an accepted network has no bit beyond its prefix.
#include <cstdlib>

#include "agent/bpf/networks.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto network = wattle::agent::parse_network(std::string(reinterpret_cast<const char*>(data), size));
  if (!network) return 0;
  if (network->bits > (network->ipv6 ? 128u : 32u)) std::abort();
  for (unsigned bit = network->bits; bit < 128; ++bit)
    if ((network->address[bit / 8] & (0x80u >> (bit % 8))) != 0) std::abort();
  return 0;
}
