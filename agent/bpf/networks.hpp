// networks: parses the operator's list of IP networks.
// Source   "10.0.0.0/8", "fd00::/8"; a bare address is a network of one address
// Errors   malformed, naming the text
// Threads  pure
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "common/result.hpp"

namespace wattle::agent {

struct IpNetwork {
  bool ipv6 = false;
  unsigned bits = 0;
  std::array<std::uint8_t, 16> address{};  // IPv4 uses the first four; bits beyond the prefix are 0

  bool operator==(const IpNetwork&) const = default;
};

inline constexpr std::size_t kMaxNetworks = 30;  // per family, in addition to loopback

Result<IpNetwork> parse_network(const std::string& text);

}  // namespace wattle::agent
