// budget: limits a measured share of pods' time, such as the share that pods wait for CPU, and sets the price at which
// placements pay for it (placement/worth/objective).
// Measured a share of time is pod-seconds waited over pod-seconds lived: an hour of a hundred pods weighs as much as a
//          hundred hours of one
// Price    rises while the measured value exceeds the budget and falls more slowly below it: dual ascent in bounded
//          multiplicative steps. The price of waiting rises only as far as waiting responds to it (price_response).
//          Only values measured while a Wattle policy acted change a price. A price starts with the first measurement,
//          at the value of one unit: the fleet's watts per core for waiting, 1 for lateness
// Budget   the operator's limit; otherwise the value measured under the default scheduler plus half a point, at least
//          1%
// Units    shares 0..1, seconds; the price has the unit that the caller passes to measure()
// Errors   none; values that are not finite are ignored
// Threads  values
#pragma once

#include <optional>

#include "placement/cluster/packed.hpp"
#include "placement/cluster/price_response.hpp"

namespace wattle::placement {

// The operator's limits. Unset: derived from the default scheduler's measurements, with a margin.
struct BudgetLimits {
  std::optional<double> cpu_wait, late;
  bool operator==(const BudgetLimits&) const = default;
};

// A share of pods' time over a sliding window, or over the whole history while that is shorter.
class PodTimeShare {
 public:
  // Adds `dt_s` seconds in which `waiting_pods` of `pods` waited.
  void add(double waiting_pods, double pods, double dt_s, double memory_s);
  double ratio() const { return pods_ > 0 ? waiting_pods_ / pods_ : 0; }
  double seconds() const { return seconds_; }

  void pack(PackWriter& out) const;
  static PodTimeShare unpack(PackReader& in);

 private:
  double waiting_pods_ = 0, pods_ = 0;  // means over those seconds
  double seconds_ = 0;
};

// Range of a price, in multiples of one unit's value; whether a limit that is neither set nor based on the default
// scheduler's history may move it; whether the measured value has to respond to it (price_response).
struct PriceRule {
  double least = 0.01, most = 100;
  bool by_guess = true, by_response = true;
};

// A budget, its measured value and its price.
class Budget {
 public:
  explicit Budget(PriceRule rule = {}) : rule_(rule) {}
  // Without a value the limit follows from the default scheduler's measurements.
  void set_limit(std::optional<double> ratio);
  // Adds a measurement of `dt_s` seconds: mean number of waiting pods, mean number of pods, whether a Wattle policy
  // acted, and the value of one unit (for waiting, the watts of a core). Ignored if there are no pods.
  void measure(double waiting_pods, double pods, double dt_s, bool acting, double unit);

  double limit() const;
  bool limit_set() const { return set_.has_value(); }
  bool limit_known() const { return limit_set() || under_default(); }  // false: the limit is a guess
  // True if the budget moves its price. Otherwise limit() has no effect.
  bool in_force() const { return rule_.by_guess || limit_known(); }
  // Ratio of the measured value to the limit; above 1: exceeded. Unset if the budget is not in force or has no
  // measurement.
  std::optional<double> used_ratio() const;
  double price() const { return price_; }            // 0: no measurement yet
  bool reported() const { return reported_; }        // the last call of measure() had a value
  std::optional<double> measured() const;            // recent value while a policy acted
  double recent() const { return recent_.ratio(); }  // over the last minutes in which a policy acted
  std::optional<double> under_default() const;       // value while no policy acted

  void pack(PackWriter& out) const;
  void unpack(PackReader& in);

 private:
  PriceRule rule_;
  std::optional<double> set_;
  double price_ = 0;
  bool reported_ = false;
  PodTimeShare measured_, recent_, default_;
  PriceResponse response_;
};

}  // namespace wattle::placement
