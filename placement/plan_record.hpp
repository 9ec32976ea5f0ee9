// plan_record: whether following the plan has cost less of late than going by each pod's own cost.
// Input    of each block of decisions what the copy of the cluster that follows the plan drew beyond the one that goes by the amortised rank,
//          over what that drew (placement/paired_simulation)
// Method   a mean that fades; the verdict changes where it is clear of 0, so that it does not change back at once
// Begins   behind: a plan rests on expectations, which have been right of nothing yet
// Errors   none: what is no number is not added
// Threads  value
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace wattle::placement {

struct PlanRecordOptions {
  double memory_blocks = 20;
  double least_blocks = 5;  // before there is a verdict
  double ahead = 0.01;      // a plan must cost this much less to be followed, and not more to go on
  double most = 0.1;        // that one block counts: a cluster that fills begins with little on either side
};

class PlanRecord {
 public:
  explicit PlanRecord(PlanRecordOptions options = {}) : options_(options) {}
  // True: the verdict has changed.
  bool add(double difference) {
    if (!std::isfinite(difference)) return false;
    blocks_ = std::min(blocks_ + 1, options_.memory_blocks);
    mean_ += (std::clamp(difference, -options_.most, options_.most) - mean_) / blocks_;
    const bool was = ahead_;
    if (blocks_ >= options_.least_blocks) ahead_ = mean_ < (ahead_ ? 0 : -options_.ahead);
    return was != ahead_;
  }
  // What a restart need not forget.
  struct State {
    bool ahead = false;
    double mean = 0, blocks = 0;
    bool operator==(const State&) const = default;
  };
  State state() const { return {ahead_, mean_, blocks_}; }
  // False: it is no state that a record can be in, and nothing changes.
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
  double mean() const { return mean_; }  // of late; below 0: the plan costs less
  double blocks() const { return blocks_; }

 private:
  PlanRecordOptions options_;
  bool ahead_ = false;
  double mean_ = 0, blocks_ = 0;
};

}  // namespace wattle::placement
