// tcp_endpoint: checks an address to connect to when it is configured, because a program retries a wrong one forever.
// Accepts  tcp://HOST:PORT with a name, an IPv4 address or an IPv6 address in brackets; ipc://PATH
// Threads  pure function
#pragma once

#include <string_view>

#include "common/net_address.hpp"

namespace wattle {

inline constexpr const char* kEndpointFix = "use tcp://HOST:PORT, for example tcp://controller:7462";

inline bool can_connect_to(std::string_view endpoint) {
  if (endpoint.starts_with("ipc://")) return endpoint.size() > 6;
  const auto at = parse_tcp_endpoint(endpoint);
  return at && at->port > 0 && at->host != "*" && at->host.find_first_of(" \t\r\n/[]") == std::string::npos;
}

}  // namespace wattle
