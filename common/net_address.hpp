// net_address: resolves the addresses of a host, for a program that connects to it.
// Source   getaddrinfo(3): the hosts file, DNS and everything else in nsswitch.conf; may block as long as resolv.conf
//          allows
// Gives    every address of both families, in the system's order of preference (RFC 6724), each once
// Errors   not_found (the name has no address), unavailable (no name server answers); the error names the host
// Threads  any
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.hpp"

namespace wattle {

struct NetAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  bool ipv6() const { return storage.ss_family == AF_INET6; }
  std::string host() const;      // numeric: "192.0.2.1", "2001:db8::1", "fe80::1%eth0"
  std::uint16_t port() const;    // 0: unset
  std::string endpoint() const;  // "tcp://192.0.2.1:7460", "tcp://[2001:db8::1]:7460"
  bool operator==(const NetAddress& other) const;
};

// Parses a numeric address; no value if the host is a name.
std::optional<NetAddress> numeric_address(const std::string& host, std::uint16_t port);

Result<std::vector<NetAddress>> resolve_host(const std::string& host, std::uint16_t port);

struct HostPort {
  std::string host;
  std::uint16_t port = 0;
  auto operator<=>(const HostPort&) const = default;
};

// Parses "tcp://HOST:PORT" and drops the brackets of an IPv6 address. No value for anything else.
std::optional<HostPort> parse_tcp_endpoint(std::string_view endpoint);

}  // namespace wattle
