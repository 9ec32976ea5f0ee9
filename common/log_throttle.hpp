// log_throttle: lets each peer's trouble into the log once an interval, however often it comes.
// Bounds   `capacity` peers are remembered; while all of them are recent, further ones are counted and not told
// Errors   none
// Threads  single owner
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "common/clock.hpp"

namespace wattle {

class LogThrottle {
 public:
  explicit LogThrottle(Duration interval, std::size_t capacity = 1000) : interval_(interval), capacity_(capacity) {}
  // How often it came since it was last told, if it is to be told now.
  std::optional<std::uint64_t> note(const std::string& peer, MonoTime now);
  std::size_t size() const { return peers_.size(); }

 private:
  struct Seen {
    MonoTime told{};
    std::uint64_t untold = 0;
  };
  Duration interval_;
  std::size_t capacity_;
  std::map<std::string, Seen> peers_;
};

}  // namespace wattle
