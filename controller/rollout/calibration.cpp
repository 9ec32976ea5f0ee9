#include "controller/rollout/calibration.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/stats/distributions.hpp"
#include "common/stats/moments.hpp"
#include "common/stats/welch.hpp"

namespace wattle::controller {
namespace {

struct Estimate {
  double mean = 0, variance = 0;
};

// Measured and modelled effect of one canary, as logarithms of energy ratios.
struct Compared {
  Estimate measured, modelled;
  double freedom = 0;
  std::size_t blocks = 0;
};

std::optional<Compared> compare(const std::vector<BlockResult>& blocks, double measured_s) {
  stats::Moments treated, control, modelled;
  for (const BlockResult& block : blocks) {
    if (!block.usable(measured_s)) continue;
    if (block.treated) {
      treated.add(std::log(block.j_per_core_h()));
    } else if (block.modelled(measured_s)) {  // blocks with both values only
      control.add(std::log(block.j_per_core_h()));
      modelled.add(std::log(block.modelled_acting_j / block.modelled_j));
    }
  }
  if (treated.count() < kLeastBlocks || control.count() < kLeastBlocks) return std::nullopt;
  Compared out;
  out.measured = {treated.mean() - control.mean(), treated.variance_of_mean() + control.variance_of_mean()};
  out.modelled = {modelled.mean(), modelled.variance_of_mean()};
  out.freedom = stats::welch_freedom(treated, control);
  out.blocks = treated.count() + control.count();
  return out;
}

// Converts to savings, 1 - exp(x). For small values the variance is that of x.
Estimate saving_of(const Estimate& logarithm) {
  const double left = std::exp(logarithm.mean);
  return {1 - left, left * left * logarithm.variance};
}

double bounded(double ratio) { return std::clamp(ratio, -kMostCalibration, kMostCalibration); }

}  // namespace

// Fieller 1954: returns all ratios r for which measured - r * modelled does not differ significantly from 0.
std::optional<Calibration> calibrate(std::span<const std::vector<BlockResult>> canaries, double measured_s) {
  constexpr double kLeastVariance = 1e-12;  // lower bound, for identical blocks
  Estimate measured, modelled;
  double weights = 0, freedom = 0;
  Calibration out;
  for (const std::vector<BlockResult>& blocks : canaries) {
    const auto one = compare(blocks, measured_s);
    if (!one) continue;
    const double weight = 1 / std::max(one->measured.variance, kLeastVariance);
    measured.mean += weight * one->measured.mean;
    modelled.mean += weight * one->modelled.mean;
    modelled.variance += weight * weight * one->modelled.variance;
    weights += weight;
    freedom += one->freedom;
    out.blocks += one->blocks;
  }
  if (!(weights > 0)) return std::nullopt;
  measured = {measured.mean / weights, 1 / weights};
  modelled = {modelled.mean / weights, modelled.variance / (weights * weights)};
  const Estimate y = saving_of(measured), x = saving_of(modelled);
  const double t = stats::student_quantile_975(freedom);
  const double unsure = t * t * x.variance / (x.mean * x.mean);
  if (!(unsure < 1) || !std::isfinite(unsure)) return std::nullopt;
  const double ratio = y.mean / x.mean;
  const double middle = ratio / (1 - unsure);
  const double inside = y.variance * (1 - unsure) + ratio * ratio * x.variance;
  const double reach = t / std::abs(x.mean) * std::sqrt(std::max(0.0, inside)) / (1 - unsure);
  if (!std::isfinite(middle) || !std::isfinite(reach)) return std::nullopt;
  out.ratio = {bounded(ratio), bounded(middle - reach), bounded(middle + reach)};
  return out;
}

// Returns the product of two independent values.
stats::Interval calibrated(const stats::Interval& change, const Calibration& calibration) {
  const auto reach = [](const stats::Interval& interval, bool upwards) {
    return upwards ? interval.high - interval.mean : interval.mean - interval.low;
  };
  const stats::Interval& ratio = calibration.ratio;
  const double mean = change.mean * ratio.mean;
  const auto side = [&](bool upwards) {
    // A larger ratio moves a negative change further down.
    const double a = reach(change, ratio.mean < 0 ? !upwards : upwards);
    const double b = reach(ratio, change.mean < 0 ? !upwards : upwards);
    return std::sqrt(a * a * ratio.mean * ratio.mean + b * b * change.mean * change.mean + a * a * b * b);
  };
  return {mean, mean - side(false), mean + side(true)};
}

void keep_canary(std::vector<PastCanary>& past, PastCanary over) {
  if (over.blocks.empty()) return;
  past.push_back(std::move(over));
  std::size_t all = 0;
  for (const PastCanary& each : past) all += each.blocks.size();
  while (past.size() > 1 && all > kMostPastBlocks) {
    all -= past.front().blocks.size();
    past.erase(past.begin());
  }
}

}  // namespace wattle::controller
