// crowd: decides who gets a connection when there are more than the server allows, so that no peer owns a port by holding connections.
// Full     the connection that has waited longest for its peer is closed: one whose header or body dribbles in, one that is idle, one
//          whose answer is not read. An honest request takes milliseconds, so what is old dribbles. A request whose handler runs stays
// Source   an address (of IPv6 its /64) has at most a share of all connections; above it, its own give way. Loopback has no share: probes,
//          proxies and operators of this machine are on it. Its connections give way to one another alone, and some are kept for it
// Threads  pure
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace wattle::http {

enum class Turn : std::uint8_t {
  peer,  // the peer's: to send a request, or to read its answer
  work,  // ours: the handler runs
  gone,  // has given way, and is not closed yet
};

struct Source {
  std::string network;  // the address, or of IPv6 its first 64 bits
  bool loopback = false;
};

struct Seat {
  const Source* from = nullptr;
  Turn turn = Turn::peer;
  std::uint64_t since = 0;  // rises: when the peer was last waited for from the start
};

struct CrowdBounds {
  std::size_t connections = 0, per_source = 0;
};
inline constexpr std::size_t kKeptForLoopback = 8;

struct Verdict {
  bool admitted = false;
  std::optional<std::size_t> gives_way;  // index of the seat
};
Verdict judge(std::span<const Seat> seats, const Source& newcomer, const CrowdBounds& bounds);

}  // namespace wattle::http
