#include "placement/cluster/waiting.hpp"

#include <algorithm>
#include <cmath>

#include "common/psi.hpp"

namespace wattle::placement {

namespace {

constexpr double kShareVariance = 9e-4;  // of one reading
constexpr double kSlopeVariance = 1.0;   // of a slope around that of the fleet
constexpr double kWaitMemory = 5000;     // readings
constexpr double kWaitForget = 0.1;      // share of the data kept when readings contradict it
constexpr double kSurelyWaits = 0.999;
constexpr std::size_t kFitSweeps = 30;
constexpr double kSettledSlope = 1e-7;
constexpr double kResidualMemory = 0.02;

// Mean of (X - t)+ for a normal X.
double mean_above(double mean, double spread, double t) {
  constexpr double kFar = 8;  // spreads; the tail beyond is below 1e-16
  const double away = mean - t;
  if (away >= kFar * spread) return away;
  if (away <= -kFar * spread) return 0;
  constexpr double kInvSqrt2 = 0.7071067811865476, kInvSqrt2Pi = 0.3989422804014327;
  const double z = away / spread;
  return std::max(0.0, away * 0.5 * std::erfc(-z * kInvSqrt2) + spread * kInvSqrt2Pi * std::exp(-0.5 * z * z));
}

}  // namespace

double WaitingCurve::wait(double mean_cores, double variance, double cores) const {
  if (!(mean_cores > 0) && !(variance > 0)) return 0;
  if (!(cores > 0)) return 1;
  constexpr double kMost = 1e6;  // beyond it all tenants wait
  const double mean = std::clamp(mean_cores / cores, 0.0, kMost);
  const double spread = variance > 0 ? std::min(std::sqrt(variance) / cores, kMost) : 0.0;
  double sum = 0;
  for (std::size_t k = 0; k < kWaitKnots && sum < 1; ++k)
    if (slopes[k] > 0)
      sum += slopes[k] * mean_above(std::isnan(mean) ? 0.0 : mean, std::isnan(spread) ? 0.0 : spread, kWaitFrom[k]);
  return std::isnan(sum) ? 1.0 : std::min(1.0, sum);
}

double WaitingCurve::waiting_cores(double mean_cores, double variance, double cores) const {
  if (!std::isfinite(mean_cores)) return 0;
  return wait(mean_cores, variance, cores) * std::max(0.0, mean_cores);
}

WaitingModel::WaitingModel() : curve_(typical()) {}

WaitingCurve WaitingModel::typical() {
  WaitingCurve curve;
  curve.slopes = {0, 0, 0, 0, 0, 1.0, 0, 2.0};
  return curve;
}

bool WaitingModel::observe(double utilisation, double waiting, const WaitingCurve& fleet) {
  if (!std::isfinite(utilisation) || !std::isfinite(waiting) || utilisation < 0 || utilisation > 1 || waiting < 0 ||
      waiting > 1)
    return false;
  std::array<double, kWaitKnots> basis{};
  double predicted = 0;
  for (std::size_t k = 0; k < kWaitKnots; ++k) {
    basis[k] = std::max(0.0, utilisation - kWaitFrom[k]);
    predicted += curve_.slopes[k] * basis[k];
  }
  ++samples_;
  const double error = waiting - std::min(predicted, 1.0);
  // A reading is uninformative if all tenants wait (the unmet demand is unknown) or if the load is below the first
  // knot.
  const bool silent = !(basis[0] > 0) || (waiting > kSurelyWaits && predicted >= 1);
  if (silent) return true;
  residual_var_ += std::max(kResidualMemory, 1.0 / static_cast<double>(samples_)) * (error * error - residual_var_);
  double keep = 1 - 1 / kWaitMemory;
  const double spreads = error / std::sqrt(kShareVariance + residual_var_);
  if (cusum_.add(std::clamp(spreads, -kShiftCut, kShiftCut))) {
    cusum_.restart();
    keep = kWaitForget;
  }
  for (std::size_t i = 0; i < kWaitKnots; ++i) {
    product_[i] = keep * product_[i] + basis[i] * waiting;
    for (std::size_t j = 0; j < kWaitKnots; ++j)
      square_[i * kWaitKnots + j] = keep * square_[i * kWaitKnots + j] + basis[i] * basis[j];
  }
  fit(fleet);
  return true;
}

// Least squares with slopes >= 0, by coordinate descent: the problem is convex, so it converges to its only solution.
void WaitingModel::fit(const WaitingCurve& fleet) {
  constexpr double kPull = kShareVariance / kSlopeVariance;
  for (std::size_t sweep = 0; sweep < kFitSweeps; ++sweep) {
    double moved = 0;
    for (std::size_t i = 0; i < kWaitKnots; ++i) {
      double left = product_[i] + kPull * fleet.slopes[i];
      for (std::size_t j = 0; j < kWaitKnots; ++j)
        if (j != i) left -= square_[i * kWaitKnots + j] * curve_.slopes[j];
      const double slope = std::max(0.0, left / (square_[i * kWaitKnots + i] + kPull));
      moved = std::max(moved, std::abs(slope - curve_.slopes[i]));
      curve_.slopes[i] = slope;
    }
    if (moved < kSettledSlope) return;
  }
}

double WaitingModel::residual_sd() const {
  constexpr double kPriorSd = 0.1;
  return samples_ == 0 ? kPriorSd : std::sqrt(residual_var_);
}

void WaitingModel::pack(PackWriter& out) const {
  for (const double value : square_) out.real(value);
  for (const double value : product_) out.real(value);
  for (const double value : curve_.slopes) out.real(value);
  out.real(residual_var_);
  out.word(samples_);
}

WaitingModel WaitingModel::unpack(PackReader& in) {
  WaitingModel read;
  for (double& value : read.square_) value = in.real();
  for (double& value : read.product_) value = in.real();
  for (double& value : read.curve_.slopes) {
    value = in.real();
    if (value < 0) in.refuse();
  }
  read.residual_var_ = in.real();
  read.samples_ = in.word();
  for (std::size_t i = 0; i < kWaitKnots; ++i)
    if (read.square_[i * kWaitKnots + i] < 0) in.refuse();
  if (read.residual_var_ < 0) in.refuse();
  return in.ok() ? read : WaitingModel{};
}

std::optional<double> stalled_ratio(const NodeView& node) {
  const auto& some = node.values.pressure.cpu_some_ratio;
  if (!some || !std::isfinite(*some)) return std::nullopt;
  return waiting_share(*some, node.throttled_cores, node.values.cpu_used_cores.value_or(0));
}

std::optional<double> stalled_ratio(const WorkloadValues& pod, double cores, double interval_s) {
  const auto& some = pod.pressure.cpu_some_ratio;
  if (!some || !std::isfinite(*some) || !(interval_s > 0)) return std::nullopt;
  const double throttled_s = static_cast<double>(pod.cpu_throttled_us.value_or(0)) * 1e-6;
  return waiting_share(*some, throttled_s / interval_s, cores);
}

std::optional<double> waiting_ratio(const NodeView& node) {
  const NodeValues& values = node.values;
  if (values.pressure.cpu_some_ratio) return stalled_ratio(node);
  if (!values.kernel.run_queue_us || !values.kernel.on_cpu_us) return std::nullopt;
  const auto queued = static_cast<double>(*values.kernel.run_queue_us),
             ran = static_cast<double>(*values.kernel.on_cpu_us);
  if (!(queued + ran > 0) || !std::isfinite(queued + ran)) return 0.0;
  // A throttled task is in the queue, too. The interval follows from the running time and the cores used.
  const double used_cores = values.cpu_used_cores.value_or(0);
  const double throttled_us = used_cores > 0 ? std::max(0.0, node.throttled_cores) * ran / used_cores : 0.0;
  return std::clamp((queued - std::min(queued, throttled_us)) / (queued + ran), 0.0, 1.0);
}

}  // namespace wattle::placement
