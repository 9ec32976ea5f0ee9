// power_curve: recursive Bayesian regression on principal components of published server curves.
// Source   SPECpower_ssj2008 published results of 125 servers of 8 to 80 cores (every second of 249; the others are the
//          test set, wattle-lab bench consolidation_fill), watts at 0,10,...,100% load. Each curve is divided by the
//          watts of a typical server with this number of cores; components are scaled so that their prior is a standard
//          normal. After 10 readings with 3% noise, the curves of the test set are fitted within 4.5% of their maximum
//          on average ({1, u, sqrt u}: 5.1%, {1, u, u^2}: 5.0%).
#include "placement/cluster/power_curve.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "placement/cluster/curve_points.hpp"

namespace wattle::placement {
namespace {

using Points = CurvePoints;

// Typical watts at full load: exp(kScaleOffset) * cores^kScaleExponent.
constexpr double kScaleOffset = 4.07063;
constexpr double kScaleExponent = 0.501776;
constexpr Points kMeanShape = {0.3367, 0.4655, 0.5211, 0.5740, 0.6283, 0.6881, 0.7587, 0.8318, 0.9161, 1.0149, 1.1093};
constexpr std::array<Points, 4> kComponents = {{
    {0.2763, 0.3150, 0.3420, 0.3656, 0.3862, 0.4117, 0.4345, 0.4543, 0.4777, 0.5004, 0.5171},
    {0.1081, 0.0762, 0.0694, 0.0609, 0.0490, 0.0322, 0.0110, -0.0124, -0.0421, -0.0902, -0.1276},
    {0.0417, 0.0144, 0.0068, 0.0013, -0.0051, -0.0213, -0.0318, -0.0276, -0.0152, 0.0131, 0.0366},
    {0.0301, -0.0091, -0.0159, -0.0170, -0.0153, -0.0004, 0.0125, 0.0129, 0.0059, 0.0048, -0.0082},
}};

constexpr double kReadingVariance = 1e-3;  // of one reading, in units of scale^2
constexpr double kForget = 1e-5;           // step towards the prior covariance, per reading
constexpr double kForgetSurprised = 0.05;  // the same while readings contradict the curve
constexpr double kSurpriseMemory = 0.1;
constexpr double kSurpriseLimit = 1.5;  // mean error over its predicted spread; 1/sqrt(19) of it is normal
constexpr double kOutlier = 3.0;        // spreads beyond which one reading counts less
constexpr double kShiftForget = 0.5;    // step towards the prior covariance after a shift, once
constexpr double kMaxPowerW = 20'000;

}  // namespace

// Cached, because a view constructs thousands of these.
PowerCurve::PowerCurve() {
  static const PowerCurve typical = prior(16);
  *this = typical;
}

PowerCurve::PowerCurve(double scale_w) : scale_w_(scale_w) {
  for (std::size_t i = 0; i < kBasis; ++i) covariance_[i * kBasis + i] = 1.0;
  refresh();
}

PowerCurve PowerCurve::prior(double cores) {
  const double sane_cores = std::isfinite(cores) ? std::clamp(cores, 1.0, 1024.0) : 16.0;
  return PowerCurve(std::exp(kScaleOffset) * std::pow(sane_cores, kScaleExponent));
}

PowerCurve PowerCurve::known(const std::array<double, kCurvePoints>& watts) {
  PowerCurve curve;
  curve.fixed_ = true;
  double highest_w = 0;
  for (std::size_t i = 0; i < kCurvePoints; ++i) {
    if (std::isfinite(watts[i])) highest_w = std::max(highest_w, watts[i]);
    curve.points_[i] = highest_w;
  }
  return curve;
}

void PowerCurve::watch(double spreads) {
  if (!cusum_.add(std::clamp(spreads, -kShiftCut, kShiftCut))) return;
  cusum_.restart();
  ++shifts_;
  for (std::size_t i = 0; i < kBasis; ++i)
    for (std::size_t j = 0; j < kBasis; ++j) {
      double& entry = covariance_[i * kBasis + j];
      entry += kShiftForget * ((i == j ? 1.0 : 0.0) - entry);
    }
}

bool PowerCurve::observe(double utilisation, double power_w) {
  const bool sane = std::isfinite(utilisation) && std::isfinite(power_w) && utilisation >= 0 && utilisation <= 1 &&
                    power_w >= 0 && power_w <= kMaxPowerW;
  if (!sane || fixed_) return false;

  std::array<double, kBasis> basis{};
  std::array<double, kBasis> gain{};
  double error = power_w / scale_w_ - between_points(kMeanShape, utilisation);
  for (std::size_t i = 0; i < kBasis; ++i) {
    basis[i] = between_points(kComponents[i], utilisation);
    error -= mean_[i] * basis[i];
  }
  double variance = 0;
  const auto weigh = [&] {
    variance = kReadingVariance;
    for (std::size_t i = 0; i < kBasis; ++i) {
      gain[i] = 0;
      for (std::size_t j = 0; j < kBasis; ++j) gain[i] += covariance_[i * kBasis + j] * basis[j];
      variance += basis[i] * gain[i];
    }
  };
  weigh();
  const std::uint64_t before = shifts_;
  watch(error / std::sqrt(variance));
  if (shifts_ != before) weigh();
  const double spreads = error / std::sqrt(variance);
  surprise_ += kSurpriseMemory * (std::clamp(spreads, -kOutlier, kOutlier) - surprise_);
  if (std::abs(spreads) > kOutlier) variance *= std::abs(spreads) / kOutlier;
  for (std::size_t i = 0; i < kBasis; ++i) mean_[i] += gain[i] * error / variance;
  const double forget = std::abs(surprise_) > kSurpriseLimit ? kForgetSurprised : kForget;
  for (std::size_t i = 0; i < kBasis; ++i) {
    for (std::size_t j = 0; j < kBasis; ++j) {
      double& entry = covariance_[i * kBasis + j];
      entry -= gain[i] * gain[j] / variance;
      entry += forget * ((i == j ? 1.0 : 0.0) - entry);
    }
  }
  ++samples_;
  residual_var_ += std::max(0.01, 1.0 / static_cast<double>(samples_)) * (error * error - residual_var_);
  refresh();
  return true;
}

void PowerCurve::refresh() {
  double highest_w = 0;
  for (std::size_t i = 0; i < kCurvePoints; ++i) {
    double shape = kMeanShape[i];
    for (std::size_t j = 0; j < kBasis; ++j) shape += mean_[j] * kComponents[j][i];
    highest_w = std::max(highest_w, shape * scale_w_);
    points_[i] = highest_w;
  }
}

double PowerCurve::sd_w(const std::array<double, kBasis>& components) const {
  if (fixed_) return 0;
  double variance = 0;
  for (std::size_t i = 0; i < kBasis; ++i)
    for (std::size_t j = 0; j < kBasis; ++j) variance += components[i] * covariance_[i * kBasis + j] * components[j];
  return scale_w_ * std::sqrt(std::max(0.0, variance));
}

double PowerCurve::watts_sd_w(double utilisation) const {
  std::array<double, kBasis> components{};
  for (std::size_t i = 0; i < kBasis; ++i) components[i] = between_points(kComponents[i], utilisation);
  return sd_w(components);
}

double PowerCurve::difference_sd_w(double from, double to) const {
  std::array<double, kBasis> components{};
  for (std::size_t i = 0; i < kBasis; ++i)
    components[i] = between_points(kComponents[i], to) - between_points(kComponents[i], from);
  return sd_w(components);
}

double PowerCurve::watts(double utilisation) const {
  return between_points(points_, std::isfinite(utilisation) ? utilisation : 0.0);
}

double PowerCurve::marginal_w(double from, double by) const {
  if (!std::isfinite(from) || !std::isfinite(by)) return 0;
  const double slope_w = slope_beyond_w(points_);
  return extended_w(points_, slope_w, from + by) - extended_w(points_, slope_w, from);
}

double PowerCurve::residual_sd_w() const {
  if (fixed_) return 0;
  return scale_w_ * (samples_ == 0 ? between_points(kComponents[0], 0.5) : std::sqrt(residual_var_));
}

void PowerCurve::pack(PackWriter& out) const {
  out.word(fixed_ ? 1 : 0);
  for (const double value : fixed_ ? std::span<const double>(points_) : std::span<const double>(mean_)) out.real(value);
  if (fixed_) return;
  for (const double value : covariance_) out.real(value);
  for (const double value : {scale_w_, residual_var_, surprise_}) out.real(value);
  out.word(samples_);
}

PowerCurve PowerCurve::unpack(PackReader& in) {
  if (in.word() != 0) {
    std::array<double, kCurvePoints> watts{};
    for (double& value : watts) value = in.real();
    return known(watts);
  }
  PowerCurve curve;
  for (double& value : curve.mean_) value = in.real();
  for (double& value : curve.covariance_) value = in.real();
  for (double* value : {&curve.scale_w_, &curve.residual_var_, &curve.surprise_}) *value = in.real();
  curve.samples_ = in.word();
  if (!(curve.scale_w_ > 0) || curve.residual_var_ < 0) in.refuse();
  if (!in.ok()) return {};
  curve.refresh();
  return curve;
}

}  // namespace wattle::placement
