// daily_need: what a workload's pods needed at each time of day of the last week, and so what they will need in the next hour.
// Keeps    each five minutes of seven days: the share of what its pods needed in them, in buckets as common/stats/decayed_histogram's
// Says     the share of the next hour's five minutes on the days before, times how the last three hours compare with the same hours
//          of those days (0.7 to 1.5); no less than the middle of the last half hour; the end of its bucket
// Units    seconds of the wall clock: a day is one of UTC
// Errors   unpack: the reader's. A clock that is set back by an hour or more begins anew
// Threads  values
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "placement/packed.hpp"

namespace wattle::placement {

class DailyNeed {
 public:
  DailyNeed();
  // One pod's minute around `at_s`; `share`: of the pods' minutes of five that are to be covered.
  void add(double needed, double share, double at_s);
  // Absent: fewer than `days` days are known of that hour.
  std::optional<double> wanted(double share, double days, double now_s) const;
  void pack(PackWriter& out) const;
  void unpack(PackReader& in);

 private:
  std::uint8_t at(std::int64_t slot) const;  // 0: nothing is known
  void move_to(std::int64_t slot, double share);

  std::string kept_;             // a byte for each five minutes
  std::int64_t newest_ = 0;      // five minutes since 1970 that are added to now
  std::vector<double> minutes_;  // of those
};

}  // namespace wattle::placement
