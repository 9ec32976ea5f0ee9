#include "agent/marginal_power.hpp"

#include <algorithm>
#include <cmath>

namespace wattle::agent {

namespace {
constexpr double kMemory_s = 3600, kLeast_s = 600, kLeastTicks = 30;
constexpr double kLeastVariance = 1e-4;  // of cores in use: below it the slope is rounding error
constexpr double kMostError = 0.25;      // of the slope
}  // namespace

void MarginalPower::add(const Record& record) {
  const NodeValues& node = record.node;
  const double interval_s = static_cast<double>(record.interval_ns) * 1e-9;
  if (!node.energy_uj || !node.cpu_used_cores || node.energy_gap || !(interval_s > 0)) return;
  if (node.energy_source != source_) {
    *this = {};
    source_ = node.energy_source;
  }
  const double power_w = static_cast<double>(*node.energy_uj) * 1e-6 / interval_s, cores = *node.cpu_used_cores;
  const double kept = std::exp(-interval_s / kMemory_s);
  weight_squares_ = kept * kept * weight_squares_ + interval_s * interval_s;
  for (double* sum : {&weight_, &cores_squares_, &w_squares_, &products_}) *sum *= kept;
  weight_ += interval_s;
  const double cores_off = cores - mean_cores_, w_off = power_w - mean_w_;
  mean_cores_ += interval_s / weight_ * cores_off;
  mean_w_ += interval_s / weight_ * w_off;
  cores_squares_ += interval_s * cores_off * (cores - mean_cores_);
  w_squares_ += interval_s * w_off * (power_w - mean_w_);
  products_ += interval_s * cores_off * (power_w - mean_w_);
}

std::optional<double> MarginalPower::core_w() const {
  if (weight_ < kLeast_s || cores_squares_ < kLeastVariance * weight_) return std::nullopt;
  const double ticks = weight_ * weight_ / weight_squares_;
  if (ticks < kLeastTicks) return std::nullopt;
  const double slope = products_ / cores_squares_;
  const double left = std::max(0.0, w_squares_ - slope * products_);
  const double error = std::sqrt(left / (ticks - 2) / cores_squares_);
  if (!(slope > 0) || !(error <= kMostError * slope)) return std::nullopt;
  return slope;
}

}  // namespace wattle::agent
