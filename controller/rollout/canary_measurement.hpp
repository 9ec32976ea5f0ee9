// canary_measurement: collects the measured blocks of a canary and estimates their saving.
// Source   the cluster, passed to watch() about once a second; longer gaps are not counted
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
  // Starts another experiment and drops the blocks of the previous one.
  void restart();
  // Restores the blocks that this experiment had before a restart.
  void restore(std::vector<BlockResult> blocks) { blocks_ = std::move(blocks); }
  void count_decision() { meter_.count_decision(); }
  // Call in every mode. In mode canary, returns a block when it ends.
  std::optional<BlockResult> watch(const RolloutSpec& spec, const ClusterNow& now, MonoTime at, WallTime wall);
  const std::vector<BlockResult>& blocks() const { return blocks_; }
  EffectEstimate effect(const SwitchbackSchedule& schedule) const;

 private:
  std::vector<BlockResult> blocks_;
  BlockMeter meter_;
  std::optional<MonoTime> watched_;
};

}  // namespace wattle::controller
