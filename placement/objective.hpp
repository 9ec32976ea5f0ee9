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
// Price    rises while more is measured than the budget allows and falls, more slowly, while less is (dual ascent, as multiplicative
//          steps of bounded size); moved by what was measured while the policy acted, and by nothing else. It begins at the
//          fleet's watts per core, once waiting is known at all
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
  std::optional<double> cpu_wait;
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

// One budget, what was measured of it, and its price.
class Budget {
 public:
  // Absent: by what the default scheduler had.
  void set_limit(std::optional<double> ratio);
  // All that is known of `dt_s` seconds: how many of how many pods waited on average, whether a policy of ours decided, and the watts
  // that a core costs here.
  void measure(double waiting_pods, double pods, double dt_s, bool acting, double core_w);

  double limit() const;
  bool limit_set() const { return set_.has_value(); }
  double price_w() const { return price_w_; }             // 0: nothing was measured yet
  std::optional<double> measured() const;                 // of late, while a policy acted
  double lately() const { return lately_.ratio(); }       // of the last minutes in which one acted
  std::optional<double> under_default() const;            // likewise, while none did
  double acted_s() const { return measured_.seconds(); }  // behind the first, as it fades

  void pack(PackWriter& out) const;
  // `by_time`: as it was kept when shares were means over time, however many pods there were.
  void unpack(PackReader& in, bool by_time = false);

 private:
  std::optional<double> set_;
  double price_w_ = 0;
  PodTimeShare measured_, lately_, default_;
};

}  // namespace wattle::placement
