// price_response: the highest price that a budget may set, raised only where its measured value responds to the price.
// Rungs    a price may reach the first rung, 3.7 units, at once. Each higher rung is a trial: the value measured there
//          is compared with that of the rung below. The rung stays if the value falls by a tenth of its excess over the
//          limit and by more than two standard errors, or if the price falls by itself. Otherwise the price returns to
//          the rung below
// Rest     a rung that failed is tried again after a day, and one that passed is tested again after two
// Windows  eight half hours at the rung, without the first two, which pods placed earlier still influence
// Units    prices in multiples of one unit's value, shares 0..1, seconds in which a Wattle policy acted
// State    in memory only: after a restart the price climbs the rungs again
// Errors   none
// Threads  value
#pragma once

#include "common/stats/moments.hpp"

namespace wattle::placement {

class PriceResponse {
 public:
  // Adds `dt_s` seconds at this price, with the lost share of time and its limit.
  void add(double lost_ratio, double limit, double price, double dt_s);
  double highest() const { return rung_; }

 private:
  static constexpr double kStep = 3, kTop = 100, kFirst = kTop / (kStep * kStep * kStep);
  void judge(double limit);
  void go_to(double rung, bool on_trial);
  void begin_window();

  double rung_ = kFirst;
  bool on_trial_ = false, tested_again_ = false;
  stats::Moments here_, below_;     // lost shares of half hours at this rung, and at the one below
  int half_hours_ = 0;              // at this rung
  double part_s_ = 0, lost_s_ = 0;  // in the current half hour
  double now_s_ = 0, passed_at_s_ = 0, again_at_s_ = 0;
};

}  // namespace wattle::placement
