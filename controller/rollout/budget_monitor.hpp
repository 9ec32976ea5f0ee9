// budget_monitor: has more been measured than a budget allows, for long, while a policy of ours placed pods?
// Over     what was measured of late is more than half above the limit. Time over adds up, time within takes as much away, time of which
//          nothing is told does neither; half an hour of it alarms. Looked at where the limit is known alone: an operator said it, or it is
//          measured under the default scheduler
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
struct BudgetNow {
  double lately = 0, measured = 0, limit = 0;
  bool told = true;  // just now
};

// Absent: the limit is a guess yet, or nothing has acted.
inline std::optional<BudgetNow> budget_now(const placement::Budget& budget) {
  if (!budget.limit_known() || !budget.measured()) return std::nullopt;
  return BudgetNow{budget.lately(), *budget.measured(), budget.limit(), budget.told()};
}

// What pods waited for CPU, and were beyond their soft latency limits.
struct BudgetsNow {
  std::optional<BudgetNow> waiting, late;
};

class BudgetMonitor {
 public:
  static constexpr double kOver = 1.5, kPatience_s = 1800, kLongest_s = 60;

  // While acting. True: alarm.
  bool acting(const BudgetNow& now, double passed_s) {
    if (!now.told || !std::isfinite(now.lately) || !(now.limit > 0) || !(passed_s > 0)) return false;
    const double passed = std::min(passed_s, kLongest_s);
    over_s_ = std::max(0.0, over_s_ + (now.lately > kOver * now.limit ? passed : -passed));
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
