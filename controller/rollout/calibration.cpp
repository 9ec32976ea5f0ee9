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
  constexpr double kNormal975 = 1.96;
  const double heavier = stats::student_quantile_975(freedom) / kNormal975;
  const double unsure = heavier * heavier * (y.variance + x.variance);
  const double prior = kPriorRatio * kPriorRatio, both = prior * x.mean * x.mean + unsure;
  if (!(both > 0) || !std::isfinite(both)) return std::nullopt;
  const double away = y.mean - x.mean;
  const double ratio = 1 + prior * x.mean * away / both, reach = kNormal975 * std::sqrt(prior * unsure / both);
  out.ratio = {bounded(ratio), bounded(ratio - reach), bounded(ratio + reach)};
  const double beyond = std::abs(away) - kNormal975 * std::sqrt(both);
  if (beyond > 0) out.unexplained = std::min(kMostCalibration, beyond / std::abs(x.mean));
  return out;
}

stats::Interval calibrated(const stats::Interval& change, const Calibration& calibration, double by_sleep) {
  const double placed = change.mean - by_sleep, mean = by_sleep + placed * calibration.ratio.mean;
  const auto reach = [&](double side) { return std::hypot(side, calibration.unexplained * placed); };
  return {mean, mean - reach(change.mean - change.low), mean + reach(change.high - change.mean)};
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
