// memory_need: the memory that a workload's pods need now, and how much their need rises before a resize can follow.
// Level    of an hour: the lower third of the maxima of its ten minutes
// Keeps    the maximum of each ten minutes of the last seventy; for each of 14 days the maximum and the greatest rise,
//          which is a ten-minute maximum minus the level of the hour before. A recurring rise (a spike, a nightly job,
//          a start) is included at any level. A level that is no longer needed is dropped within the hour
// Returns  the level of the last hour plus the greatest rise (at least a twentieth of the level); at most the 14-day
//          maximum plus a quarter of it, at least the current ten minutes; rounded up in steps of 2.5%, so that a
//          request does not follow every small change
// Units    bytes; seconds of the wall clock; a day is a UTC day
// Errors   unpack: the reader's. A clock that is set back by an hour or more resets the state
// Threads  values
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "placement/cluster/packed.hpp"

namespace wattle::placement {

class MemoryNeed {
 public:
  // Adds one pod's maximum of the ten minutes before `at_s`; may be called repeatedly for the same minutes.
  void add(double needed, double at_s);
  // No value if fewer than `days` days before today are known.
  std::optional<double> wanted(double days) const;
  void pack(PackWriter& out) const;
  void unpack(PackReader& in);

 private:
  struct Day {
    std::int64_t day = 0;  // since 1970
    double most = 0, rise = 0;
  };
  static constexpr std::size_t kHour = 6, kDays = 14;  // ten-minute spans per hour; days

  void move_to(std::int64_t slot);
  std::span<const double> hour_before() const;
  std::span<const double> last_hour() const;

  std::array<double, kHour + 1> spans_{};  // newest last; 0: unknown
  std::array<Day, kDays> days_{};          // index: day % kDays; `most` 0: unknown
  std::int64_t newest_ = 0;                // ten-minute spans since 1970
};

}  // namespace wattle::placement
