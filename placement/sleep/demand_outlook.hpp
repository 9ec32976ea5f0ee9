// demand_outlook: the requested cores of the recent past and of this time of day. The sleep plan derives from them how
// much capacity must stay awake and how long a node can sleep.
// Input    the cores requested by all running and waiting pods, at least once a minute
// Recent   the highest value and the mean of the last minutes
// Day      the highest value of each five minutes of the day, for the last seven days. A slot is expected to reach the
//          median of its days: a single unusual day or a weekend has no effect, and the warm spares cover the days
//          above the median
// Before the end of the first day, only the recent past counts
// Bounds   readings later than a clock that stepped back are dropped; memory is constant
// Units    cores; wall time, because the time of day is that of the cluster's users
// Errors   unpack: the reader's; values that are not finite or below 0 are ignored
// Threads  values; single owner
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "common/clock.hpp"
#include "common/wall_step.hpp"
#include "placement/cluster/packed.hpp"

namespace wattle::placement::sleep {

class DemandOutlook {
 public:
  static constexpr std::size_t kDays = 7, kSlots = 288;

  void observe(double requested_cores, WallTime now);
  // Moves the recent past with the clock. Values of past days keep their slots.
  void move(const WallStep& step) {
    for (Reading& each : recent_) each.at = step.moved(each.at);
  }

  // The highest and the mean cores of the last `past`, up to `now`; 0 without a value.
  double highest(WallTime now, Duration past) const;
  double mean(WallTime now, Duration past) const;
  // Expected highest value between two times of the next day. No value before the end of the first day.
  std::optional<double> expected(WallTime from, WallTime until) const;
  // First time from `from` on, within `most`, at which more than `cores` are expected; `from` + `most` if none.
  WallTime first_above(double cores, WallTime from, Duration most) const;

  void pack(PackWriter& out) const;
  void unpack(PackReader& in);

 private:
  struct Reading {
    WallTime at{};
    double cores = 0;
  };
  static constexpr std::int64_t kNoDay = -1;
  // Each array by day modulo kDays.
  struct Slot {
    Slot() { day.fill(kNoDay); }
    std::array<float, kDays> highest{};
    std::array<std::int64_t, kDays> day;  // of the value, in days since the epoch
  };
  std::optional<double> of_slot(std::int64_t slot) const;  // slots since the epoch

  std::deque<Reading> recent_;  // oldest first, at most an hour
  std::array<Slot, kSlots> slots_;
};

}  // namespace wattle::placement::sleep
