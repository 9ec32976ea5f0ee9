#include "agent/bpf/networks.hpp"

#include <arpa/inet.h>

#include "common/parse.hpp"

namespace wattle::agent {

Result<IpNetwork> parse_network(const std::string& text) {
  const auto slash = text.find('/');
  const std::string address = text.substr(0, slash);
  IpNetwork network;
  network.ipv6 = address.find(':') != std::string::npos;
  const auto bad = [&] {
    return fail(Errc::malformed, "'" + text + "'", "is not an IP network", "for example 10.0.0.0/8 or fd00::/8");
  };
  if (address.find('\0') != std::string::npos ||
      ::inet_pton(network.ipv6 ? AF_INET6 : AF_INET, address.c_str(), network.address.data()) != 1)
    return bad();
  const unsigned most = network.ipv6 ? 128 : 32;
  network.bits = most;
  if (slash != std::string::npos) {
    const auto bits = parse::u64(std::string_view(text).substr(slash + 1));
    if (!bits || *bits > most) return bad();
    network.bits = static_cast<unsigned>(*bits);
  }
  for (unsigned bit = network.bits; bit < 128; ++bit)
    network.address[bit / 8] = static_cast<std::uint8_t>(network.address[bit / 8] & ~(0x80u >> (bit % 8)));
  return network;
}

}  // namespace wattle::agent
