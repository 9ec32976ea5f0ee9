// memory_need: what a workload's pods need of memory now, and how much more they came to need before they were seen to.
// Keeps    the most of each ten minutes of the last seventy; of each of 14 days the most, and the greatest rise: ten minutes less the
//          middle of the hour before them. What rises again and again (a spike, a job of the night, a start) is in it, whatever the
//          level was then; a level that is no longer needed is forgotten within the hour
// Says     the middle of the last hour and the greatest rise (a twentieth of it at least), with its margin; no more than the most of
//          14 days with its margin, no less than these ten minutes; in steps of 3%, up
// Units    bytes; seconds of the wall clock: a day is one of UTC
// Errors   unpack: the reader's. A clock that is set back by an hour or more begins anew
// Threads  values
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "placement/packed.hpp"

namespace wattle::placement {

struct MemoryMargins {
  double rise_ratio = 0.1;   // beyond the greatest rise
  double most_ratio = 0.15;  // beyond the most
};

class MemoryNeed {
 public:
  // One pod's most of the ten minutes before `at_s`, of which it may tell more than once.
  void add(double needed, double at_s);
  // Absent: fewer than `days` days are known beside this one.
  std::optional<double> wanted(double days, const MemoryMargins& margins) const;
  void pack(PackWriter& out) const;
  void unpack(PackReader& in);

 private:
  struct Day {
    std::int64_t day = 0;  // since 1970
    double most = 0, rise = 0;
  };
  static constexpr std::size_t kHour = 6, kDays = 14;  // ten minutes of an hour; days

  void move_to(std::int64_t slot);
  std::span<const double> hour_before() const;
  std::span<const double> last_hour() const;

  std::array<double, kHour + 1> spans_{};  // the newest last; 0: nothing is known
  std::array<Day, kDays> days_{};          // day % kDays; `most` 0: nothing is known
  std::int64_t newest_ = 0;                // ten minutes since 1970
};

}  // namespace wattle::placement
