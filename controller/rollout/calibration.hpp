// calibration: the share of the modelled saving that canaries measured, and the modelled saving corrected by it.
// Source   blocks of canaries of one policy and reward. Measured: energy per core-hour of treated against control
//          blocks (effect.hpp). Modelled, in control blocks of the same canary: advice is played forward on a copy of
//          the cluster that begins with the block, without the same washout
// Figure   measured over modelled saving; 0.8 is a fifth less than modelled. Several canaries are weighted by their
//          certainty
// Interval 95%, Fieller's of a ratio, Student's t. No value below five blocks an arm, or if the modelled saving may be
//          zero
// Bounds   ratio and interval within kMostCalibration either way
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

inline constexpr double kMostCalibration = 3;

struct Calibration {
  stats::Interval ratio;   // measured over modelled
  std::size_t blocks = 0;  // that it is of, treated and control
};

// Each of `canaries` has the blocks of one canary; `measured_s` is a block's time without its washout.
std::optional<Calibration> calibrate(std::span<const std::vector<BlockResult>> canaries, double measured_s);

// Multiplies a change of joules (-0.17 is 17% less) by the calibration; the interval combines both.
stats::Interval calibrated(const stats::Interval& change, const Calibration& calibration);

// A canary that is over.
struct PastCanary {
  std::string ranking;  // policy and reward
  std::vector<BlockResult> blocks;
};
inline constexpr std::size_t kMostPastBlocks = 4000;

// Appends a canary; the oldest are dropped beyond kMostPastBlocks.
void keep_canary(std::vector<PastCanary>& past, PastCanary over);

}  // namespace wattle::controller
