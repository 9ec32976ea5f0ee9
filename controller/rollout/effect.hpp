// effect: the saving of the treated blocks against the control blocks, with its interval.
// Figure   joules per requested core-hour: energy of all nodes over a block's measured time / cores requested by bound
//          pods over the same time. The saving is 1 - the ratio of the arms' geometric means
// Interval 95%, of the difference of mean logarithms (Welch); no value below five blocks per arm
// Excludes blocks with measured watts for less than 95% of node time, with less than 90% of the time observed, or with
//          less than a tenth of a core requested on average
// Bias     towards a smaller saving: pods that outlive a block continue in a block of the other arm
// Threads  values; BlockMeter has a single owner
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "common/stats/interval.hpp"
#include "controller/rollout/switchback.hpp"
#include "placement/judge/compared_energy.hpp"

namespace wattle::controller {

struct BlockResult {
  std::uint64_t number = 0;
  bool treated = false;
  double seen_s = 0;    // of the measured time
  double energy_j = 0;  // of nodes with measured watts
  double core_h = 0;    // requested
  double node_s = 0, watched_node_s = 0;
  std::uint64_t decisions = 0;
  // Modelled energy of a control block: of the real cluster, and as if its advice had been followed from the
  // block's beginning.
  double modelled_s = 0;  // of the measured time
  double modelled_j = 0, modelled_acting_j = 0;
  double j_per_core_h() const { return energy_j / core_h; }
  bool usable(double measured_s) const;
  bool modelled(double measured_s) const;
};

struct ClusterNow {
  double power_w = 0;  // of the nodes that report it
  std::size_t nodes = 0, watched = 0;
  double requested_cores = 0;
  // Sums since the start of the copy on which advice accumulates; unset if there is no copy.
  std::optional<placement::ComparedEnergy> compared;
};

class BlockMeter {
 public:
  // Adds the cluster's state over the last `passed`; returns the previous block when another has begun.
  std::optional<BlockResult> add(const Block& block, const ClusterNow& now, Duration passed);
  void count_decision() { ++open_.decisions; }
  const BlockResult& open() const { return open_; }

 private:
  BlockResult open_;
  bool begun_ = false;
  std::optional<placement::ComparedEnergy> compared_;  // previous value
};

struct EffectEstimate {
  std::size_t treated = 0, control = 0, unused = 0;  // blocks
  std::optional<double> treated_j_per_core_h, control_j_per_core_h;
  std::optional<double> ratio, low, high;  // saved, 0.1 is a tenth less; 95%
};
inline constexpr std::size_t kLeastBlocks = stats::kLeastSeeds;

// `measured_s`: of one block, without its washout.
EffectEstimate estimate_effect(std::span<const BlockResult> blocks, double measured_s);

}  // namespace wattle::controller
