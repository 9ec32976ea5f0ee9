// crowd: decides which connection is closed when the server is full, so that no peer can occupy all connections.
// Full     closes the connection that has waited longest for its peer: a slow header or body, an idle connection, or an
//          unread answer. Honest requests take milliseconds, so an old one is slow. A request whose handler runs is
//          kept
// Source   each address (for IPv6, each /64) has at most a share of the connections; above it, one of that address's
//          connections is closed. Loopback has no share limit, because probes, proxies and local operators use it. A
//          loopback connection is closed only for another loopback connection, and some connections are reserved for
//          loopback
// Threads  pure
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace wattle::http {

enum class Turn : std::uint8_t {
  peer,  // the peer must send a request or read its answer
  work,  // the handler runs
  gone,  // has given way and is about to close
};

struct Source {
  std::string network;  // address; for IPv6 its first 64 bits
  bool loopback = false;
};

struct Seat {
  const Source* from = nullptr;
  Turn turn = Turn::peer;
  std::uint64_t since = 0;  // rises with each turn; the lowest has waited longest for its peer
};

struct CrowdBounds {
  std::size_t connections = 0, per_source = 0;
};
inline constexpr std::size_t kKeptForLoopback = 8;

struct Verdict {
  bool admitted = false;
  std::optional<std::size_t> gives_way;  // index of the seat to close
};
Verdict judge(std::span<const Seat> seats, const Source& newcomer, const CrowdBounds& bounds);

}  // namespace wattle::http
