// crowd: who gets a connection when there are more than may be: nobody owns a port by opening connections and saying nothing.
// Full     who has not said a whole header goes first, the oldest of them; then who waits between requests, whose body is on its
//          way, whose answer is; a request that is being answered never goes
// Source   an address (of IPv6 its /64) has at most a share of all connections; beyond it its own give way. Loopback has no
//          share: probes, proxies and operators of this machine are on it, its connections give way to one another alone, and
//          some are kept for it
// Threads  pure
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace wattle::http {

// In the order in which they give way; the last two never do.
enum class Turn : std::uint8_t { header, idle, body, answer, work, gone };

struct Source {
  std::string network;  // the address, or of IPv6 its first 64 bits
  bool loopback = false;
};

struct Seat {
  const Source* from = nullptr;
  Turn turn = Turn::header;
  std::uint64_t since = 0;  // rises
};

struct CrowdBounds {
  std::size_t connections = 0, per_source = 0;
};
inline constexpr std::size_t kKeptForLoopback = 8;

struct Verdict {
  bool admitted = false;
  std::optional<std::size_t> gives_way;  // who of the seats
};
Verdict judge(std::span<const Seat> seats, const Source& newcomer, const CrowdBounds& bounds);

}  // namespace wattle::http
