// canary_measurement: what the blocks of a canary have measured so far, and the saving that they show.
// Source   the cluster, as watch() is told of it about once a second; time of which nothing was told for long counts as little
// Units    in names
// Errors   none
// Threads  single owner
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "common/clock.hpp"
#include "controller/rollout/effect.hpp"
#include "controller/rollout/rollout_spec.hpp"

namespace wattle::controller {

class CanaryMeasurement {
 public:
  // Of another experiment: blocks of before say nothing about it.
  void begin_anew();
  // Blocks that this experiment had before a restart.
  void restore(std::vector<BlockResult> blocks) { blocks_ = std::move(blocks); }
  void count_decision() { meter_.count_decision(); }
  // In whatever mode; in mode canary gives the block that is over.
  std::optional<BlockResult> watch(const RolloutSpec& spec, const ClusterNow& now, MonoTime at, WallTime wall);
  const std::vector<BlockResult>& blocks() const { return blocks_; }
  EffectEstimate effect(const SwitchbackSchedule& schedule) const;

 private:
  std::vector<BlockResult> blocks_;
  BlockMeter meter_;
  std::optional<MonoTime> watched_;
};

}  // namespace wattle::controller
