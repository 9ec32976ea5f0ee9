// calibration: how much of the modelled saving canaries have measured, and the modelled saving put right by it.
// Source   blocks of canaries of one policy and reward. Measured: energy per core-hour of treated against control blocks (effect.hpp).
//          Modelled, of the same canary: in control blocks advice is played forward on a copy of the cluster that begins with the
//          block; the same washout is left out
// Figure   measured over modelled saving, 0.8: a fifth less than modelled. Several canaries together by what each is sure of
// Interval 95%, Fieller's of a ratio, Student's t. Nothing is said below five blocks an arm, nor where what is modelled may be nothing
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

// Of one canary each; `measured_s`: of one block, without its washout.
std::optional<Calibration> calibrate(std::span<const std::vector<BlockResult>> canaries, double measured_s);

// A change of joules, -0.17 is 17% less, times what calibration says; the interval has both in it.
stats::Interval calibrated(const stats::Interval& change, const Calibration& calibration);

// Canaries that are over.
struct PastCanary {
  std::string ranking;  // policy and reward
  std::vector<BlockResult> blocks;
};
inline constexpr std::size_t kMostPastBlocks = 4000;

// The newest last; the oldest go beyond kMostPastBlocks.
void keep_canary(std::vector<PastCanary>& past, PastCanary over);

}  // namespace wattle::controller
