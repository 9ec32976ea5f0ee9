// sequential_test: is the network behind the planner? Decided block after block, at any time, with a stated rate of false alarms.
// Input    of each block of decisions the joules that the network's choices cost beyond the planner's, over what the block's pods
//          cost on average: within -1..1, positive: the network costs more (placement/paired_simulation makes them)
// Method   betting against "not behind": capital grows by log(1 + stake x difference), the stake set from earlier blocks only,
//          never below 0 (a CUSUM of a test martingale). Whatever the differences' distribution, and however they depend on
//          earlier ones, as long as each is 0 or less on average given the past the mean number of blocks to a false alarm is at
//          least `run_blocks` (e-detector: Shin, Ramdas, Rinaldo 2022; Ville's inequality). Left out, the same bet the other way
//          round lets the network back, with `back_blocks`; and in, where it begins left out
// Trial    of a network that something speaks for: it comes in when its first blocks cost no more, within `trial_tolerance`, and while it has
//          not shown more than that it may not cost `trial_loss_s` more in total, in seconds of what the copies draw. Beyond that it
//          is left out, and tried again as at first after `rest_s`: what it may cost is bounded of each day, and a bad day is not held
//          against it for ever
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
  double memory_blocks = 50;     // that stakes are set from
  bool begins_gated = false;     // a network must show that it is ahead before it is heard at all
  bool begins_on_trial = false;  // it begins left out, too, but less lets it in
  std::uint64_t trial_blocks = 3;
  double trial_tolerance = 0.01;
  double trial_loss_s = 0.005 * 86'400;  // half a percent of a day's joules
  double rest_s = 86'400;
};

// What a restart must not forget.
struct SequentialTestState {
  bool network_gated = false;
  double evidence = 0, mean = 0, mean_square = 1;
  std::uint64_t blocks = 0, changes = 0;
  bool on_trial = false;
  double trial_s = 0,
         behind_s = 0;  // of blocks on trial: how long they were, and what they cost more, in seconds of what is drawn
  double rest_s = 0;    // until it is tried again; 0: it is not
};

class SequentialTest {
 public:
  explicit SequentialTest(SequentialTestOptions options = {})
      : options_(options),
        network_gated_(options.begins_gated || options.begins_on_trial),
        capital_(capital_of(network_gated_)),
        on_trial_(options.begins_on_trial) {}
  // Of a block that lasted so long. True: the verdict has changed.
  bool add(double difference, double block_s = 0);
  bool network_gated() const { return network_gated_; }
  void begin_anew() { *this = SequentialTest(options_); }
  bool on_trial() const { return on_trial_; }
  bool rests() const { return rest_s_ > 0; }
  SequentialTestState state() const {
    return {network_gated_, capital_.level(), mean_,    square_,   blocks_,
            changes_,       on_trial_,        trial_s_, behind_s_, rest_s_};
  }
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
  bool trial_over(double difference, double block_s);
  void rest(double block_s);
  stats::Cusum capital_of(bool network_gated, double level = 0) const;  // log

  SequentialTestOptions options_;
  bool network_gated_ = false;
  stats::Cusum capital_;
  double mean_ = 0, square_ = 1;
  std::uint64_t blocks_ = 0, changes_ = 0;
  bool on_trial_ = false;
  double trial_s_ = 0, behind_s_ = 0, rest_s_ = 0;
};

}  // namespace wattle::placement
