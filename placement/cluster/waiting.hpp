// waiting: the share of wanted CPU time that a node's tenants wait for, over the distribution of the node's load.
// Model    at a load x (cores wanted over cores available) tenants wait for the sum of a_k (x - t_k)+, a_k >= 0, t_k
//          fixed: convex and never falling. For a varying load it is the mean of that under a normal load of the same
//          mean and variance, at most 1, so that variance in the load costs as much as bursts do. The a_k are fitted by
//          non-negative least squares around those of the whole fleet, which are fitted around the values of a server
//          with an even load of many short tasks
// Source   readings of one interval each: mean utilisation and the share of time in which a task waited (pressure)
// Decay    with each informative reading (a load of at least the first t_k), and at once when readings contradict the
//          fit (CUSUM)
// Units    cores, shares 0..1
// Errors   none; readings that are not finite or out of range are ignored; any other input gives 0..1
// Threads  value, single owner
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "common/stats/cusum.hpp"
#include "placement/cluster/cluster_view.hpp"
#include "placement/cluster/packed.hpp"

namespace wattle::placement {

inline constexpr std::size_t kWaitKnots = 8;
inline constexpr std::array<double, kWaitKnots> kWaitFrom = {0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0};

// Result of a fit; sufficient for predictions.
struct WaitingCurve {
  std::array<double, kWaitKnots> slopes{};
  // Share of time that tenants wait. Never negative, never falling with mean or variance, approaching 0 with more
  // cores.
  double wait(double mean_cores, double variance, double cores) const;
  // Cores' worth of tenants that wait: the share times the wanted cores.
  double waiting_cores(double mean_cores, double variance, double cores) const;
  bool operator==(const WaitingCurve&) const = default;
};

class WaitingModel {
 public:
  WaitingModel();
  // Adds one reading and returns whether it was used. `fleet`: the curve of all nodes, as prior of this one.
  bool observe(double utilisation, double waiting_ratio, const WaitingCurve& fleet);
  // Adds a reading of the whole fleet, with the typical curve as prior.
  bool observe(double utilisation, double waiting_ratio) { return observe(utilisation, waiting_ratio, typical()); }

  const WaitingCurve& curve() const { return curve_; }
  double residual_sd() const;  // of readings against the fit; the prior's without readings
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

// Returns a node's waiting: pressure, otherwise time in the run queue over time wanted, both without the time in which
// workloads were throttled by their own limits. No value if neither is known.
std::optional<double> waiting_ratio(const NodeView& node);
// Returns the same from only pressure.
std::optional<double> stalled_ratio(const NodeView& node);
// Returns the same for a pod that used `cores` during an interval, from only its own pressure.
std::optional<double> stalled_ratio(const WorkloadValues& pod, double cores, double interval_s);

}  // namespace wattle::placement
