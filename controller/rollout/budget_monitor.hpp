// budget_monitor: raises an alarm if a measured share stays above its budget while a Wattle policy places pods.
// Over     the recent measurement is over 1.5 times the limit. Time over the limit adds up, time within it subtracts,
//          unmeasured time does neither. Half an hour raises the alarm. Applies only if the limit is known: set by an
//          operator, or measured under the default scheduler
// Units    shares of pods' time; seconds
// Errors   none: values that are not finite are ignored
// Threads  single owner
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>

#include "placement/cluster/budget.hpp"

namespace wattle::controller {

// Shares in the last five minutes and in the last hour with an acting Wattle policy.
struct BudgetNow {
  double recent = 0, measured = 0, limit = 0;
  bool reported = true;  // measured just now
};

// No value if the limit is still a guess, or no policy has acted.
inline std::optional<BudgetNow> budget_now(const placement::Budget& budget) {
  if (!budget.limit_known() || !budget.measured()) return std::nullopt;
  return BudgetNow{budget.recent(), *budget.measured(), budget.limit(), budget.reported()};
}

// Shares of time in which pods waited for CPU, and were beyond their soft latency limits.
struct BudgetsNow {
  std::optional<BudgetNow> waiting, late;
};

class BudgetMonitor {
 public:
  static constexpr double kOver = 1.5, kPatience_s = 1800, kLongest_s = 60;

  // Call while acting. Returns true to raise an alarm.
  bool acting(const BudgetNow& now, double passed_s) {
    if (!now.reported || !std::isfinite(now.recent) || !(now.limit > 0) || !(passed_s > 0)) return false;
    const double passed = std::min(passed_s, kLongest_s);
    over_s_ = std::max(0.0, over_s_ + (now.recent > kOver * now.limit ? passed : -passed));
    if (over_s_ < kPatience_s) return false;
    over_s_ = 0;
    return true;
  }
  void restart() { over_s_ = 0; }
  double over_s() const { return over_s_; }
  // Returns false if the value is out of range; the monitor is then unchanged.
  bool restore(double over_s) {
    if (!(over_s >= 0 && over_s < kPatience_s)) return false;
    over_s_ = over_s;
    return true;
  }

 private:
  double over_s_ = 0;
};

}  // namespace wattle::controller
