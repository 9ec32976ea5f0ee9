#include "agent/collect/probe_icmp.hpp"

#include <linux/errqueue.h>
#include <linux/icmp.h>
#include <linux/icmpv6.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace wattle::agent {

namespace {
constexpr int kMaxPacketsAtOnce = 16;
constexpr std::uint8_t kRequest4 = 8, kReply4 = 0, kRequest6 = 128, kReply6 = 129;

void put(std::span<std::uint8_t> to, std::uint64_t value) {  // big endian
  for (std::size_t i = to.size(); i-- > 0; value >>= 8) to[i] = static_cast<std::uint8_t>(value);
}
std::uint64_t get(std::span<const std::uint8_t> from) {
  std::uint64_t value = 0;
  for (const auto byte : from) value = value << 8 | byte;
  return value;
}

// RFC 1071
std::uint16_t checksum(std::span<const std::uint8_t> bytes) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) sum += i % 2 == 0 ? std::uint32_t{bytes[i]} << 8 : bytes[i];
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

void prepare(const PingSocket& socket, IpFamily family) {
  const int on = 1;
  if (family == IpFamily::v4)
    ::setsockopt(socket.fd.get(), IPPROTO_IP, IP_RECVERR, &on, sizeof on);
  else
    ::setsockopt(socket.fd.get(), IPPROTO_IPV6, IPV6_RECVERR, &on, sizeof on);
  if (!socket.raw) return;
  // Wakes up only for replies, not for other ICMP messages.
  if (family == IpFamily::v4) {
    const icmp_filter filter{~(1U << kReply4)};
    ::setsockopt(socket.fd.get(), IPPROTO_RAW, ICMP_FILTER, &filter, sizeof filter);
  } else {
    icmp6_filter filter{};
    for (auto& word : filter.data) word = ~0U;
    filter.data[kReply6 / 32] &= ~(1U << kReply6 % 32);
    ::setsockopt(socket.fd.get(), IPPROTO_ICMPV6, ICMPV6_FILTER, &filter, sizeof filter);
  }
}
// Empties the queue of ICMP errors; returns the last one, or 0.
int queued_error(int socket) {
  int error_number = 0;
  for (int i = 0; i < kMaxPacketsAtOnce; ++i) {
    std::array<char, 512> data, control;
    iovec part{data.data(), data.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    if (::recvmsg(socket, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) break;
    for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
      const bool reports = (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR) ||
                           (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_RECVERR);
      if (!reports) continue;
      sock_extended_err extended{};
      std::memcpy(&extended, CMSG_DATA(c), sizeof extended);
      error_number = static_cast<int>(extended.ee_errno);
    }
  }
  return error_number;
}

int pending_icmp_error(int socket) {
  int error_number = 0;
  socklen_t size = sizeof error_number;
  if (::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error_number, &size) != 0) return errno;
  return error_number;
}

// Returns errors of both kinds; reading removes them.
int take_error(int socket) {
  const int pending = pending_icmp_error(socket), queued = queued_error(socket);
  return pending != 0 ? pending : queued;
}
}  // namespace

EchoPacket echo_request(IpFamily family, const Echo& echo) {
  EchoPacket packet{};
  const std::span<std::uint8_t> bytes(packet);
  bytes[0] = family == IpFamily::v4 ? kRequest4 : kRequest6;
  put(bytes.subspan(4, 2), echo.identifier);
  put(bytes.subspan(6, 2), echo.sequence);
  put(bytes.subspan(8, 8), echo.token);
  if (family == IpFamily::v4) put(bytes.subspan(2, 2), checksum(bytes));
  return packet;
}

std::optional<Echo> parse_echo_reply(IpFamily family, bool ip_header, std::span<const std::uint8_t> bytes) {
  if (family == IpFamily::v4 && ip_header) {
    if (bytes.size() < 20 || bytes[0] >> 4 != 4 || bytes[9] != IPPROTO_ICMP) return std::nullopt;
    const std::size_t header = std::size_t{4} * (bytes[0] & 15);
    if (header < 20 || header > bytes.size()) return std::nullopt;
    bytes = bytes.subspan(header);
  }
  if (bytes.size() < kEchoBytes || bytes[0] != (family == IpFamily::v4 ? kReply4 : kReply6) || bytes[1] != 0)
    return std::nullopt;
  if (family == IpFamily::v4 && checksum(bytes) != 0) return std::nullopt;
  return Echo{static_cast<std::uint16_t>(get(bytes.subspan(4, 2))),
              static_cast<std::uint16_t>(get(bytes.subspan(6, 2))), get(bytes.subspan(8, 8))};
}

Result<PingSocket> open_ping(IpFamily family) {
  const int domain = family == IpFamily::v4 ? AF_INET : AF_INET6;
  const int protocol = family == IpFamily::v4 ? static_cast<int>(IPPROTO_ICMP) : static_cast<int>(IPPROTO_ICMPV6);
  int refused = 0;
  for (const bool raw : {false, true}) {
    PingSocket socket{Fd(::socket(domain, (raw ? SOCK_RAW : SOCK_DGRAM) | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol)),
                      raw};
    if (socket.fd.valid()) {
      prepare(socket, family);
      return socket;
    }
    refused = errno;
    if (refused == EAFNOSUPPORT) break;
  }
  const std::string subject = family == IpFamily::v4 ? "ICMP socket" : "ICMPv6 socket";
  if (refused == EAFNOSUPPORT)
    return fail(Errc::unsupported, subject, "this kernel does not support this address family");
  return fail_errno(refused, subject,
                    "include this process's group in net.ipv4.ping_group_range, or grant CAP_NET_RAW");
}

Result<Pinger> Pinger::open_(std::uint16_t identifier) {
  Pinger pinger;
  pinger.echo_.identifier = identifier;
  auto four = open_ping(IpFamily::v4), six = open_ping(IpFamily::v6);
  if (!four && !six) return forward_error(four);
  if (four) pinger.four_ = std::move(*four);
  if (six) pinger.six_ = std::move(*six);
  return pinger;
}

int Pinger::send(const NetAddress& to, std::uint64_t token) {
  v6_ = to.storage.ss_family == AF_INET6;
  if (fd() < 0) return EAFNOSUPPORT;
  // Late replies belong to no current echo.
  std::array<std::uint8_t, 256> late;
  for (int i = 0; i < kMaxPacketsAtOnce && ::recv(fd(), late.data(), late.size(), 0) >= 0; ++i) {
  }
  take_error(fd());
  ++echo_.sequence;
  echo_.token = token;
  const EchoPacket packet = echo_request(v6_ ? IpFamily::v6 : IpFamily::v4, echo_);
  // A connected socket receives only from this target.
  if (::connect(fd(), to.get(), to.length) != 0) return errno;
  return ::send(fd(), packet.data(), packet.size(), 0) < 0 ? errno : 0;
}

std::optional<int> Pinger::receive() {
  const IpFamily family = v6_ ? IpFamily::v6 : IpFamily::v4;
  const bool raw = (v6_ ? six_ : four_).raw;
  for (int i = 0; i < kMaxPacketsAtOnce; ++i) {
    std::array<std::uint8_t, 256> packet;
    const ssize_t n = ::recv(fd(), packet.data(), packet.size(), 0);
    if (n < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN) break;
      const int error_number = errno;
      queued_error(fd());
      return error_number;
    }
    const auto echo =
        parse_echo_reply(family, raw, std::span<const std::uint8_t>(packet).first(static_cast<std::size_t>(n)));
    if (!echo || echo->sequence != echo_.sequence || echo->token != echo_.token) continue;
    if (!raw || echo->identifier == echo_.identifier) return 0;
  }
  const int error_number = take_error(fd());
  return error_number != 0 ? std::optional(error_number) : std::nullopt;
}

}  // namespace wattle::agent
