// peer_clock: detects that our monotonic clock stopped relative to the peer's, as it does while this machine is
// suspended or its virtual machine is paused. The peer would then map our times to the past.
// Model    each round trip bounds how far the peer's clock is ahead of ours; the lowest upper bound of the last 5 to 10
//          minutes against the current lower bound. A slow link or a slow peer only widens the bounds
// Units    nanoseconds
// Errors   none: impossible times are ignored
// Threads  single owner
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

#include "common/clock.hpp"

namespace wattle::transport {

class PeerClock {
 public:
  // Two clocks that run at most a thousandth apart do not differ by this much within the window.
  static constexpr Duration kClockStopped = std::chrono::seconds(1);

  // Takes a round trip: sent and received on our clock, answered on the peer's. Returns the time for which our clock
  // has been stopped at least; no value if that may be less than kClockStopped.
  std::optional<Duration> see(std::int64_t sent_ns, std::int64_t answered_ns, MonoTime received) {
    const std::int64_t received_ns = to_ns(received);
    if (sent_ns < 0 || sent_ns > received_ns || answered_ns < 0) return std::nullopt;
    const std::int64_t at_most_ns = answered_ns - sent_ns, at_least_ns = answered_ns - received_ns;
    if (!since_ || received - *since_ >= kHalf) {
      before_ns_ = since_ ? now_ns_ : at_most_ns;
      now_ns_ = at_most_ns;
      since_ = received;
    }
    const Duration stood(at_least_ns - std::min(now_ns_, before_ns_));
    now_ns_ = std::min(now_ns_, at_most_ns);
    return stood >= kClockStopped ? std::optional(stood) : std::nullopt;
  }
  // Call at each new conversation, which may be with another peer.
  void reset() { since_.reset(); }

 private:
  static constexpr Duration kHalf = std::chrono::minutes(5);
  std::optional<MonoTime> since_;
  std::int64_t now_ns_ = 0, before_ns_ = 0;
};

}  // namespace wattle::transport
