// ICMP packets: any packet is an echo reply or is ignored; a parsed reply has the bytes of the packet.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "agent/collect/probe_icmp.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wattle::agent;
  const std::span<const std::uint8_t> bytes(data, size);
  for (const auto family : {IpFamily::v4, IpFamily::v6}) {
    for (const bool header : {false, true}) {
      const auto echo = parse_echo_reply(family, header, bytes);
      if (!echo) continue;
      const std::size_t at = header && family == IpFamily::v4 ? std::size_t{4} * (data[0] & 15) : 0;
      const EchoPacket again = echo_request(family, *echo);
      for (std::size_t i = 4; i < kEchoBytes; ++i)
        if (again[i] != data[at + i]) std::abort();
    }
  }
  return 0;
}
