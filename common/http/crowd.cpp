#include "common/http/crowd.hpp"

namespace wattle::http {

Verdict judge(std::span<const Seat> seats, const Source& newcomer, const CrowdBounds& bounds) {
  std::size_t all = 0, same = 0;
  for (const Seat& seat : seats) {
    if (seat.turn == Turn::gone) continue;
    ++all;
    same += seat.from->network == newcomer.network ? 1 : 0;
  }
  const bool share_used = !newcomer.loopback && same >= bounds.per_source;
  if (!share_used && all < bounds.connections) return {true, std::nullopt};
  std::optional<std::size_t> first;
  for (std::size_t i = 0; i < seats.size(); ++i) {
    const Seat& seat = seats[i];
    if (seat.turn != Turn::peer) continue;
    if (share_used ? seat.from->network != newcomer.network : seat.from->loopback && !newcomer.loopback) continue;
    if (!first || seat.since < seats[*first].since) first = i;
  }
  if (first) return {true, first};
  return {newcomer.loopback && all < bounds.connections + kKeptForLoopback, std::nullopt};
}

}  // namespace wattle::http
