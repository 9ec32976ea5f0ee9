// sequential_test: is the network behind the planner? Decided block after block, at any time, with a stated rate of false alarms.
// Input    of each block of decisions the joules that the network's choices cost beyond the planner's, over what the block's pods
//          cost on average: within -1..1, positive: the network costs more (placement/paired_simulation makes them)
// Method   betting against "not behind": capital grows by log(1 + stake x difference), the stake set from earlier blocks only,
//          never below 0 (a CUSUM of a test martingale). Whatever the differences' distribution, and however they depend on
//          earlier ones, as long as each is 0 or less on average given the past the mean number of blocks to a false alarm is at
//          least `run_blocks` (e-detector: Shin, Ramdas, Rinaldo 2022; Ville's inequality). Left out, the same bet the other way
//          round lets the network back, with `back_blocks`; and in, where it begins left out
// Errors   none: what is no number is not added
// Threads  value, single owner
#pragma once

#include <cstdint>

#include "common/stats/cusum.hpp"

namespace wattle::placement {

struct SequentialTestOptions {
  double run_blocks = 2000;  // with blocks of ten decisions one false alarm in 20,000 decisions
  double back_blocks = 200;
  double largest_stake = 0.9;
  double memory_blocks = 50;  // that stakes are set from
  bool begins_gated = false;  // a network must show that it is ahead before it is heard at all
};

// What a restart must not forget.
struct SequentialTestState {
  bool network_gated = false;
  double evidence = 0, mean = 0, mean_square = 1;
  std::uint64_t blocks = 0, changes = 0;
};

class SequentialTest {
 public:
  explicit SequentialTest(SequentialTestOptions options = {})
      : options_(options), network_gated_(options.begins_gated), capital_(capital_of(network_gated_)) {}
  // True: the verdict has changed.
  bool add(double difference);
  bool network_gated() const { return network_gated_; }
  void begin_anew() { *this = SequentialTest(options_); }
  SequentialTestState state() const { return {network_gated_, capital_.level(), mean_, square_, blocks_, changes_}; }
  // False: it is no state that a test can be in, and nothing changes.
  bool restore(const SequentialTestState& state);

  double evidence() const { return capital_.level(); }  // log; of being behind, or of being ahead again while left out
  double limit() const { return capital_.limit(); }     // where the verdict changes
  double mean() const { return mean_; }                 // of late, positive: behind
  std::uint64_t blocks() const { return blocks_; }
  std::uint64_t changes() const { return changes_; }
  const SequentialTestOptions& options() const { return options_; }

 private:
  double stake(double sign) const;
  stats::Cusum capital_of(bool network_gated, double level = 0) const;  // log

  SequentialTestOptions options_;
  bool network_gated_ = false;
  stats::Cusum capital_;
  double mean_ = 0, square_ = 1;
  std::uint64_t blocks_ = 0, changes_ = 0;
};

}  // namespace wattle::placement
