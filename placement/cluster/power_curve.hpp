// power_curve: a node's watts over CPU utilisation, fitted online.
// Model    eleven watts at 0,10,...,100% utilisation, linear between; Bayesian linear regression on four principal
//          components of published servers. The prior mean is a typical server with this number of cores, so that a
//          node without samples already has a curve. Old data decays, faster when readings contradict the curve.
//          Readings that clearly belong to another server (a CUSUM beyond the fit's error) restart the fit
// Units    utilisation 0..1, watts
// Errors   none; samples that are not finite, or out of 0..1 or 0..20 kW, are ignored
// Threads  value, single owner
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "common/stats/cusum.hpp"
#include "placement/cluster/packed.hpp"

namespace wattle::placement {

inline constexpr std::size_t kCurvePoints = 11;

class PowerCurve {
 public:
  PowerCurve();                           // a typical server of 16 cores
  static PowerCurve prior(double cores);  // typical for this number of cores
  // A fixed curve, e.g. from configuration; ignores samples.
  static PowerCurve known(const std::array<double, kCurvePoints>& watts);

  // Adds one reading: mean utilisation and mean watts over the same interval. Returns whether it was used.
  bool observe(double utilisation, double power_w);

  double watts(double utilisation) const;  // never negative, never falling with utilisation
  double idle_w() const { return points_.front(); }
  double max_w() const { return points_.back(); }
  // Watts that raising utilisation from `from` by `by` adds.
  double marginal_w(double from, double by) const;
  // Return the standard deviation of the fit's error in watts(utilisation), and in watts(to) - watts(from); 0 for a
  // fixed curve.
  double watts_sd_w(double utilisation) const;
  double difference_sd_w(double from, double to) const;
  double residual_sd_w() const;  // of readings against the fit; the prior's spread without readings
  std::uint64_t samples() const { return samples_; }
  std::uint64_t shifts() const { return shifts_; }  // number of restarted fits since this process began
  const std::array<double, kCurvePoints>& points() const { return points_; }

  void pack(PackWriter& out) const;
  static PowerCurve unpack(PackReader& in);

 private:
  static constexpr std::size_t kBasis = 4;
  // A fit can be off by one and a half spreads for a long time where its components cannot follow the curve. Two
  // readings that are far off, or four that are off by three spreads, indicate another server. Independent readings
  // with the assumed spread do so once in 10^8.
  static constexpr double kShiftSlack = 1.5, kShiftCut = 6.0, kShiftLimit = 5.5;
  explicit PowerCurve(double scale_w);
  double sd_w(const std::array<double, kBasis>& components) const;
  void refresh();
  void watch(double spreads);

  std::array<double, kBasis> mean_{};
  std::array<double, kBasis * kBasis> covariance_{};
  std::array<double, kCurvePoints> points_{};
  double scale_w_ = 0;       // watts of a typical server with this number of cores at full load
  double residual_var_ = 0;  // running mean of squared errors, in units of scale_w_ squared
  double surprise_ = 0;      // running mean of errors over their predicted spread; rises when the curve changes
  stats::TwoSidedCusum cusum_{kShiftSlack, kShiftLimit};  // of errors over their spread
  std::uint64_t samples_ = 0, shifts_ = 0;
  bool fixed_ = false;
};

}  // namespace wattle::placement
