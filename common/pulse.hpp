// pulse: when a loop last turned, for whoever asks from another thread whether it still does.
// Errors   none
// Threads  beat() the loop's, age() any
#pragma once

#include <atomic>

#include "common/clock.hpp"

namespace wattle {

class Pulse {
 public:
  // A loop that has not turned yet is as old as this.
  explicit Pulse(MonoTime born) : last_ns_(to_ns(born)) {}
  void beat(MonoTime now) { last_ns_.store(to_ns(now), std::memory_order_relaxed); }
  Duration age(MonoTime now) const { return now - mono_from_ns(last_ns_.load(std::memory_order_relaxed)); }

 private:
  std::atomic<std::int64_t> last_ns_;
};

}  // namespace wattle
