// waiting: which share of the CPU time that tenants of a node want they wait for, over the distribution of the node's load.
// Model    of a load x (cores wanted over cores there are) tenants wait for the sum of a_k (x - t_k)+, a_k >= 0, t_k fixed: convex and
//          never falling. Of a load that varies it is the mean of that under a normal load of the same mean and variance, 1 at most;
//          so spread costs what bursts cost. The a_k are fitted by least squares without negative ones, round those of the
//          whole fleet, which are fitted round what an even load of many short tasks makes of a server
// Source   readings of one interval each: mean utilisation and the share of time that somebody waited (pressure)
// Fades    with readings that say something (a load from the first t_k on); at once when readings contradict the fit (CUSUM)
// Units    cores, shares 0..1
// Errors   none; readings that are not finite or out of range are not taken; any other input gives 0..1
// Threads  value, single owner
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "common/stats/cusum.hpp"
#include "placement/cluster_view.hpp"
#include "placement/packed.hpp"

namespace wattle::placement {

inline constexpr std::size_t kWaitKnots = 8;
inline constexpr std::array<double, kWaitKnots> kWaitFrom = {0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0};

// What a fit comes to: enough to predict by.
struct WaitingCurve {
  std::array<double, kWaitKnots> slopes{};
  // Share that tenants wait. Never negative, never falling with mean or variance, 0 where there are cores without end.
  double wait(double mean_cores, double variance, double cores) const;
  // Cores' worth of tenants that wait: the share times what is wanted.
  double waiting_cores(double mean_cores, double variance, double cores) const;
  bool operator==(const WaitingCurve&) const = default;
};

class WaitingModel {
 public:
  WaitingModel();
  // One reading; true if taken. `fleet`: what all nodes come to, which this one is thought to be like.
  bool observe(double utilisation, double waiting_ratio, const WaitingCurve& fleet);
  // What all nodes come to, of itself: round what is typical anywhere.
  bool observe(double utilisation, double waiting_ratio) { return observe(utilisation, waiting_ratio, typical()); }

  const WaitingCurve& curve() const { return curve_; }
  double residual_sd() const;  // of readings against the fit; that of the prior before any
  std::uint64_t samples() const { return samples_; }
  static WaitingCurve typical();

  void pack(PackWriter& out) const;
  static WaitingModel unpack(PackReader& in);

 private:
  static constexpr double kShiftSlack = 1.0, kShiftCut = 4.0, kShiftLimit = 8.0;
  void fit(const WaitingCurve& fleet);

  WaitingCurve curve_;
  std::array<double, kWaitKnots * kWaitKnots> square_{};  // sum over readings of basis x basis
  std::array<double, kWaitKnots> product_{};              // of basis x reading
  double residual_var_ = 0;
  std::uint64_t samples_ = 0;
  stats::TwoSidedCusum cusum_{kShiftSlack, kShiftLimit};
};

// What a node told of waiting: pressure, else time in the run queue over time wanted, each without the time in which workloads were kept
// by their own limits; absent: neither is known.
std::optional<double> waiting_ratio(const NodeView& node);
// Of pressure alone.
std::optional<double> stalled_ratio(const NodeView& node);
// What a pod that used so many cores told of an interval, likewise of its own pressure alone.
std::optional<double> stalled_ratio(const WorkloadValues& pod, double cores, double interval_s);

}  // namespace wattle::placement
