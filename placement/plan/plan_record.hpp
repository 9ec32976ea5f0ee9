// plan_record: records whether following the plan has recently cost less than each pod's own cost.
// Input    per block of decisions the relative energy difference between the copy of the cluster that follows the plan
//          and the one that uses each pod's own cost (placement/judge/paired_simulation)
// Method   a decaying mean; the verdict changes with hysteresis, so that it does not flip back at once
// Start    behind: a plan rests on expectations that are not confirmed yet
// Errors   none: values that are not finite are ignored
// Threads  value
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace wattle::placement {

struct PlanRecordOptions {
  double memory_blocks = 20;
  double least_blocks = 5;  // needed for a verdict
  double ahead = 0.01;      // advantage needed to start following the plan; to continue, any advantage is enough
  double most = 0.1;        // limit of one block's weight: a filling cluster has small totals on either side
};

class PlanRecord {
 public:
  explicit PlanRecord(PlanRecordOptions options = {}) : options_(options) {}
  // Returns true if the verdict changed.
  bool add(double difference) {
    if (!std::isfinite(difference)) return false;
    blocks_ = std::min(blocks_ + 1, options_.memory_blocks);
    mean_ += (std::clamp(difference, -options_.most, options_.most) - mean_) / blocks_;
    const bool was = ahead_;
    if (blocks_ >= options_.least_blocks) ahead_ = mean_ < (ahead_ ? 0 : -options_.ahead);
    return was != ahead_;
  }
  // State to keep over a restart.
  struct State {
    bool ahead = false;
    double mean = 0, blocks = 0;
    bool operator==(const State&) const = default;
  };
  State state() const { return {ahead_, mean_, blocks_}; }
  // Returns false, without a change, if no record can have this state.
  bool restore(const State& state) {
    const bool seen =
        state.blocks >= 0 && state.blocks <= options_.memory_blocks && std::abs(state.mean) <= options_.most;
    if (!seen || (state.ahead && state.blocks < options_.least_blocks)) return false;
    ahead_ = state.ahead;
    mean_ = state.mean;
    blocks_ = state.blocks;
    return true;
  }
  bool ahead() const { return ahead_; }
  double mean() const { return mean_; }  // recent; below 0: the plan costs less
  double blocks() const { return blocks_; }

 private:
  PlanRecordOptions options_;
  bool ahead_ = false;
  double mean_ = 0, blocks_ = 0;
};

}  // namespace wattle::placement
