// log_throttle: limits the log to one line per peer and interval.
// Bounds   remembers `capacity` peers; while all of them are recent, further peers are counted and not logged
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
  // Returns the number of events since the last log line if one is due now.
  std::optional<std::uint64_t> note(const std::string& peer, MonoTime now);
  std::size_t size() const { return peers_.size(); }

 private:
  struct Seen {
    MonoTime reported{};
    std::uint64_t unreported = 0;
  };
  Duration interval_;
  std::size_t capacity_;
  std::map<std::string, Seen> peers_;
};

}  // namespace wattle
