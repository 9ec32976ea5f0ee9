// daily_need: predicts the need of a workload's pods in the next hour from their need at that time of day during the
// last week.
// Keeps    per five minutes of seven days the quantile `share` of the pods' need, as a bucket number of
//          common/stats/decayed_histogram
// Returns  the quantile `share` of the same hour on earlier days, scaled by the ratio of the last three hours to the
//          same hours of those days (0.7 to 1.5). The result is at least the median of the last half hour, rounded up
//          to the end of its bucket
// Units    seconds of the wall clock; a day is a UTC day
// Errors   unpack: the reader's. A clock that is set back by an hour or more resets the state
// Threads  values
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "placement/cluster/packed.hpp"

namespace wattle::placement {

class DailyNeed {
 public:
  DailyNeed();
  // Adds one pod's minute around `at_s`. `share`: the quantile over the pods' minutes within five minutes.
  void add(double needed, double share, double at_s);
  // No value if fewer than `days` days are known for that hour.
  std::optional<double> wanted(double share, double days, double now_s) const;
  void pack(PackWriter& out) const;
  void unpack(PackReader& in);

 private:
  std::uint8_t at(std::int64_t slot) const;  // 0: unknown
  void move_to(std::int64_t slot, double share);

  std::string kept_;             // one byte per five minutes
  std::int64_t newest_ = 0;      // the current five minutes, counted since 1970
  std::vector<double> minutes_;  // needs in the current five minutes
};

}  // namespace wattle::placement
