// waiting_monitor: have pods waited beyond their budget for long while a policy of ours placed them?
// Over     what they waited of late is more than half above the limit. Time over adds up, time within takes as much away; half an hour
//          of it alarms. Looked at where the limit is known alone: an operator said it, or the default scheduler's waiting is measured
// Units    shares of pods' time; seconds
// Errors   none: what is no number is not looked at
// Threads  single owner
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>

#include "placement/objective.hpp"

namespace wattle::controller {

// Of the last five minutes and of the last hour in which a policy of ours acted.
struct WaitingNow {
  double lately = 0, measured = 0, limit = 0;
};

// Absent: the limit is a guess yet, or nothing has acted.
inline std::optional<WaitingNow> waiting_now(const placement::Budget& budget) {
  if ((!budget.limit_set() && !budget.under_default()) || !budget.measured()) return std::nullopt;
  return WaitingNow{budget.lately(), *budget.measured(), budget.limit()};
}

class WaitingMonitor {
 public:
  static constexpr double kOver = 1.5, kPatience_s = 1800, kLongest_s = 60;

  // While acting. True: alarm.
  bool acting(const WaitingNow& waiting, double passed_s) {
    if (!std::isfinite(waiting.lately) || !(waiting.limit > 0) || !(passed_s > 0)) return false;
    const double passed = std::min(passed_s, kLongest_s);
    over_s_ = std::max(0.0, over_s_ + (waiting.lately > kOver * waiting.limit ? passed : -passed));
    if (over_s_ < kPatience_s) return false;
    over_s_ = 0;
    return true;
  }
  void begin_anew() { over_s_ = 0; }
  double over_s() const { return over_s_; }
  // False: no monitor can be there, and nothing changes.
  bool restore(double over_s) {
    if (!(over_s >= 0 && over_s < kPatience_s)) return false;
    over_s_ = over_s;
    return true;
  }

 private:
  double over_s_ = 0;
};

}  // namespace wattle::controller
