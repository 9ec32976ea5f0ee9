// pulse: the time of a loop's last iteration, so that other threads can see whether it still runs.
// Errors   none
// Threads  beat() only by the loop, age() by any
#pragma once

#include <atomic>

#include "common/clock.hpp"

namespace wattle {

class Pulse {
 public:
  // `born`: time of construction, which counts as the first iteration.
  explicit Pulse(MonoTime born) : last_ns_(to_ns(born)) {}
  void beat(MonoTime now) { last_ns_.store(to_ns(now), std::memory_order_relaxed); }
  Duration age(MonoTime now) const { return now - mono_from_ns(last_ns_.load(std::memory_order_relaxed)); }

 private:
  std::atomic<std::int64_t> last_ns_;
};

}  // namespace wattle
