// clock_map: maps a node's monotonic clock to the controller's.
// Model    offset = the lowest (received - mono) of the last 5 to 10 minutes: the sample with the lowest delay is the
//          best estimate, and the window follows clock drift
// Units    nanoseconds
// Errors   none; a mapped time is never later than the time of receipt
// Threads  single owner
#pragma once

#include <algorithm>
#include <optional>

#include "common/clock.hpp"

namespace wattle::controller {

class ClockMap {
 public:
  MonoTime map(std::int64_t node_mono_ns, MonoTime received) {
    const std::int64_t offset_ns = to_ns(received) - node_mono_ns;
    if (!since_ || received - *since_ >= kHalf) {
      before_ns_ = since_ ? now_ns_ : offset_ns;
      now_ns_ = offset_ns;
      since_ = received;
    }
    now_ns_ = std::min(now_ns_, offset_ns);
    return mapped(node_mono_ns, received);
  }
  // Maps the time of a record that arrives late, and does not learn from it: it may be of an earlier boot.
  MonoTime map_late(std::int64_t node_mono_ns, MonoTime received) const {
    return since_ ? mapped(node_mono_ns, received) : received;
  }
  // Call after a reboot of the node, whose clock then restarts.
  void reset() { since_.reset(); }

 private:
  MonoTime mapped(std::int64_t node_mono_ns, MonoTime received) const {
    return mono_from_ns(std::min(node_mono_ns + std::min(now_ns_, before_ns_), to_ns(received)));
  }

  static constexpr Duration kHalf = std::chrono::minutes(5);
  std::optional<MonoTime> since_;
  std::int64_t now_ns_ = 0, before_ns_ = 0;
};

}  // namespace wattle::controller
