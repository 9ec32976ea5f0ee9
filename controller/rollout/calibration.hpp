// calibration: the share of the modelled saving that canaries measured, and the modelled saving corrected by it.
// Source   blocks of canaries of one policy and reward. Measured: energy per core-hour of treated against control
//          blocks (effect.hpp). Modelled, in control blocks of the same canary: advice accumulates on a copy of the
//          cluster that begins with the block, without the same washout
// Figure   r, measured over modelled saving; 0.8 is a fifth less than modelled. Several canaries are weighted by their
//          certainty
// Formula  normal-normal: before a canary r is 1 with deviation kPriorRatio, as far as modelled and measured savings
//          differed where both were known. A canary measured y and modelled x; y - x has the variance s^2 (Student's
//          t). r = 1 + kPriorRatio^2 x (y - x) / (kPriorRatio^2 x^2 + s^2), with the variance kPriorRatio^2 s^2 /
//          (kPriorRatio^2 x^2 + s^2). A short canary, or a modelled saving near zero, leaves r near 1
// Interval that of the model, which was found to cover its bias. Only where the canary contradicts the model,
//          |y - x| beyond 1.96 sqrt(kPriorRatio^2 x^2 + s^2), the part beyond widens it. No value with fewer than five
//          blocks per arm, or without a modelled saving
// Bounds   ratio and interval within kMostCalibration in both directions
// Threads  values, pure functions
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/stats/interval.hpp"
#include "controller/rollout/effect.hpp"

namespace wattle::controller {

inline constexpr double kMostCalibration = 3, kPriorRatio = 0.25;

struct Calibration {
  stats::Interval ratio;   // measured over modelled
  std::size_t blocks = 0;  // on which it is based, treated and control
  double unexplained = 0;  // part of the ratio by which canary and model contradict each other
};

// Each of `canaries` has the blocks of one canary; `measured_s` is a block's time without its washout.
std::optional<Calibration> calibrate(std::span<const std::vector<BlockResult>> canaries, double measured_s);

// Multiplies a change of joules (-0.17 is 17% less) by the calibration. `by_sleep`: the part of it by nodes asleep,
// whose power is known; canaries compare placements.
stats::Interval calibrated(const stats::Interval& change, const Calibration& calibration, double by_sleep = 0);

// A canary that is over.
struct PastCanary {
  std::string ranking;  // policy and reward
  std::vector<BlockResult> blocks;
};
inline constexpr std::size_t kMostPastBlocks = 4000;

// Appends a canary; the oldest are dropped beyond kMostPastBlocks.
void keep_canary(std::vector<PastCanary>& past, PastCanary over);

}  // namespace wattle::controller
