// stopped_within: waits in a std::jthread until a time has passed or its stop is requested.
// Errors   none
// Threads  the one that waits
#pragma once

#include <condition_variable>
#include <mutex>
#include <stop_token>

#include "common/clock.hpp"

namespace wattle {

// Returns true if the stop is requested.
inline bool stopped_within(const std::stop_token& stop, Duration span) {
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  wake.wait_for(lock, stop, span, [] { return false; });
  return stop.stop_requested();
}

}  // namespace wattle
