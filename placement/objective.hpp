// objective: what placements are judged by, stated here alone: joules, subject to budgets. A budget bounds what was measured, such
// as the share of time that pods wait for CPU; what a placement is expected to add to it costs watts at the budget's price.
// Cost     of a node: its watts + price x cores' worth of tenants that wait (placement/waiting). At a price of 0 it is the watts
//          A placement is judged by the upper end of what pods may use where they wait, by the mean where they cost watts: who
//          is known badly is not crowded, and replicas that are guessed wrong are wrong together
// Measured a share of time is pod-seconds that were waited over pod-seconds that were lived: an hour of a hundred pods weighs as
//          much as a hundred hours of one
// Latency  users that are served less well than the reward's latency term can be cost watts, too, for as long as the pod is there: a point
//          of the term is worth the joules that a point of the energy term is (placement/reward), so that copies of a cluster weigh both
//          as outcomes do. A hard limit is a mask and has no price
// Late     the share of pods' time in which their users were beyond the soft limit, of pods that have one and whose latency is told. Its
//          price multiplies the latency term in the prior and the watts that latency costs copies; within the budget, and until its limit
//          is more than a guess, it is 1, and all is as if there were none
// Price    rises while more is measured than the budget allows and falls, more slowly, while less is (dual ascent, as multiplicative
//          steps of bounded size); moved by what was measured while the policy acted, and by nothing else. It begins at what one unit
//          is worth, once anything is measured: of waiting the fleet's watts per core, of lateness 1
// Budget   as the operator set it; else what this cluster had while the default scheduler decided, and half a point, at least 1%
// Units    watts, cores, watts per core that waits, shares 0..1, seconds
// Errors   none; values that are not finite are not taken
// Threads  values
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "placement/fleet.hpp"
#include "placement/packed.hpp"
#include "placement/prior.hpp"

namespace wattle::placement {

// What the operator allows; absent: what the default scheduler had, and a little.
struct Limits {
  std::optional<double> cpu_wait, late;
  bool operator==(const Limits&) const = default;
};

// A node that is on, with that mean use and variance.
double node_cost_w(const FleetNode& node, double used_cores, double variance, double cpu_wait_price_w);
// What the pod adds in waiting, of its own and of those who are there, at the fleet's price.
double added_wait_w(const Fleet& fleet, std::size_t node, const PodEstimate& ask);
// As added_w and amortised_w (placement/fleet), waiting included.
double added_cost_w(const Fleet& fleet, std::size_t node, const PodEstimate& ask);
double amortised_cost_w(const Fleet& fleet, std::size_t node, const PodEstimate& ask);
// The prior of Q, waiting at its price included. One prediction for each of the rows, indices into the nodes of both.
void price_waiting(const RewardConfig& config, const ClusterView& view, const Fleet& fleet,
                   std::span<const std::size_t> rows, const PodSpec& pod, const PodEstimate& ask,
                   std::span<Prediction> predictions);

// The prior's latency term at its price.
void price_latency(double latency_price, std::span<Prediction> predictions);

// Watts of a pod that is expected to live so long, for each point of the latency term that it does not get; 0 where a reward weighs no
// latency or no energy.
double latency_price_w(const RewardConfig& config, double life_s);

// Share of pods' time over the last so many seconds; all there is while that is less.
class PodTimeShare {
 public:
  // So many pods waited, of so many, for `dt_s` seconds.
  void add(double waiting_pods, double pods, double dt_s, double memory_s);
  double ratio() const { return pods_ > 0 ? waiting_pods_ / pods_ : waiting_pods_; }
  double seconds() const { return seconds_; }

  void pack(PackWriter& out) const;
  static PodTimeShare unpack(PackReader& in);
  // A share of which nobody knows by how many pods it was measured: it counts as if they had been those that are seen next.
  static PodTimeShare of(double ratio, double seconds);

 private:
  double waiting_pods_ = 0, pods_ = 0;  // means over those seconds; without pods the first is a share
  double seconds_ = 0;
};

// How a price moves: between what, in times of what one unit is worth; and whether a limit that nobody set, and no history of the default
// scheduler speaks for, moves it.
struct PriceRule {
  double least = 0.01, most = 100;
  bool by_guess = true;
};

// One budget, what was measured of it, and its price.
class Budget {
 public:
  explicit Budget(PriceRule rule = {}) : rule_(rule) {}
  // Absent: by what the default scheduler had.
  void set_limit(std::optional<double> ratio);
  // All that is known of `dt_s` seconds: how many of how many pods waited on average, whether a policy of ours decided, and what one
  // unit is worth (of waiting the watts that a core costs here). No pods: nothing is known.
  void measure(double waiting_pods, double pods, double dt_s, bool acting, double unit);

  double limit() const;
  bool limit_set() const { return set_.has_value(); }
  bool limit_known() const { return limit_set() || under_default(); }  // no guess
  // It moves the price. Where it does not, limit() bounds nothing.
  bool in_force() const { return rule_.by_guess || limit_known(); }
  // What was measured over the limit; above 1: exceeded. Absent: it is not in force, or nothing was measured.
  std::optional<double> used_ratio() const;
  double price() const { return price_; }                 // 0: nothing was measured yet
  bool told() const { return told_; }                     // the last call of measure() knew something
  std::optional<double> measured() const;                 // of late, while a policy acted
  double lately() const { return lately_.ratio(); }       // of the last minutes in which one acted
  std::optional<double> under_default() const;            // likewise, while none did
  double acted_s() const { return measured_.seconds(); }  // behind the first, as it fades

  void pack(PackWriter& out) const;
  // `by_time`: as it was kept when shares were means over time, however many pods there were.
  void unpack(PackReader& in, bool by_time = false);

 private:
  PriceRule rule_;
  std::optional<double> set_;
  double price_ = 0;
  bool told_ = false;
  PodTimeShare measured_, lately_, default_;
};

}  // namespace wattle::placement
