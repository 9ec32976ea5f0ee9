// probe_icmp: ICMP echo requests and their replies, and the sockets that carry them.
// Source   RFC 792, RFC 4443; icmp(7) ping sockets where net.ipv4.ping_group_range admits this process, else raw ones
// Errors   denied if neither kind of socket may be opened, unsupported if the kernel lacks the family
// Threads  packets any; Pinger single owner
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "agent/collect/names.hpp"
#include "common/dir.hpp"
#include "common/result.hpp"

namespace wattle::agent {

enum class IpFamily : std::uint8_t { v4, v6 };

struct Echo {
  std::uint16_t identifier = 0;  // a ping socket sets its own
  std::uint16_t sequence = 0;
  std::uint64_t token = 0;  // in the payload: distinguishes our reply from others
  bool operator==(const Echo&) const = default;
};

inline constexpr std::size_t kEchoBytes = 16;
using EchoPacket = std::array<std::uint8_t, kEchoBytes>;

// A request with its checksum; for ICMPv6 the kernel sets the checksum, which covers addresses.
EchoPacket echo_request(IpFamily family, const Echo& echo);

// Returns the echo of a reply; no value for other packets. `ip_header`: the packet begins with an IPv4 header, as on
// raw sockets.
std::optional<Echo> parse_echo_reply(IpFamily family, bool ip_header, std::span<const std::uint8_t> bytes);

struct PingSocket {
  Fd fd;             // non-blocking; reports ICMP errors
  bool raw = false;  // receives with the IP header (v4), and keeps the identifier of the request
};

Result<PingSocket> open_ping(IpFamily family);

// Sends one target's echoes, one at a time, over IPv4 or IPv6.
class Pinger {
 public:
  // `identifier` distinguishes its raw sockets from others. Fails if neither family is available.
  static Result<Pinger> open_(std::uint16_t identifier);
  bool raw() const { return (four_.fd.valid() ? four_ : six_).raw; }
  // Sends the next echo and forgets the previous one; returns 0 or an errno. EAFNOSUPPORT: there is no socket of that
  // family.
  int send(const NetAddress& to, std::uint64_t token);
  // Socket of the last echo, to poll for POLLIN (and POLLERR).
  int fd() const { return (v6_ ? six_ : four_).fd.get(); }
  // Returns 0 for a reply, or an errno if the network reported a failure; no value before either.
  std::optional<int> receive();

 private:
  Pinger() = default;
  PingSocket four_, six_;
  bool v6_ = false;
  Echo echo_;
};

}  // namespace wattle::agent
