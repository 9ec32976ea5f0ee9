// probe_icmp: ICMP echo requests and their replies, and the sockets that carry them.
// Source   RFC 792, RFC 4443; icmp(7) ping sockets where net.ipv4.ping_group_range admits this process, else raw ones
// Errors   denied when neither kind of socket may be opened, unsupported where the kernel lacks the family
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
  std::uint16_t identifier = 0;  // a ping socket puts its own
  std::uint16_t sequence = 0;
  std::uint64_t token = 0;  // in the payload: tells our reply from a stranger's
  bool operator==(const Echo&) const = default;
};

inline constexpr std::size_t kEchoBytes = 16;
using EchoPacket = std::array<std::uint8_t, kEchoBytes>;

// A request with its checksum; of ICMPv6 the kernel makes the checksum, which covers addresses.
EchoPacket echo_request(IpFamily family, const Echo& echo);

// The echo in a reply; absent for everything else. `ip_header`: an IPv4 header stands before it, as raw sockets give.
std::optional<Echo> parse_echo_reply(IpFamily family, bool ip_header, std::span<const std::uint8_t> bytes);

struct PingSocket {
  Fd fd;             // not blocking; tells of ICMP errors
  bool raw = false;  // receives with IP header (v4), and keeps the identifier that was sent
};

Result<PingSocket> open_ping(IpFamily family);

// One target's echoes, one at a time, over IPv4 or IPv6.
class Pinger {
 public:
  // `identifier` sets its raw sockets apart from those of others. Fails when neither family can be had.
  static Result<Pinger> open_(std::uint16_t identifier);
  bool raw() const { return (four_.fd.valid() ? four_ : six_).raw; }
  // Sends the next echo and forgets the one before; 0, or an errno. EAFNOSUPPORT: there is no socket of that family.
  int send(const NetAddress& to, std::uint64_t token);
  // Of the echo sent last, to wait for POLLIN (and POLLERR) on.
  int fd() const { return (v6_ ? six_ : four_).fd.get(); }
  // 0 when its reply came, an errno when the network told that none will; absent while there is neither.
  std::optional<int> receive();

 private:
  Pinger() = default;
  PingSocket four_, six_;
  bool v6_ = false;
  Echo echo_;
};

}  // namespace wattle::agent
