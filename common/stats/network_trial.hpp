// network_trial: the state of a network, and the test of evidence, block by block, that changes it. The verdict is
// valid at any time, with a stated rate of false alarms.
// States   candidate: not used, only compared. on_trial: retried with less evidence, while its cost is bounded. in_use:
//          it may act. withdrawn: it was behind; it returns when it is shown to be ahead, or by a trial
// Input    per block the cost of the network's choices beyond those of the incumbent, relative to the larger of both:
//          within -1..1, positive: the network costs more (placement/judge/paired_simulation computes it for placement)
// Method   betting against "not behind": capital grows by log(1 + stake x difference), the stake set from earlier
//          blocks only, never below 0 (a CUSUM of a test martingale). For any distribution and dependence of the
//          differences, as long as each is 0 or less on average given the past, the mean number of blocks to a false
//          alarm is at least `run_blocks` (e-detector: Shin, Ramdas, Rinaldo 2022; Ville's inequality). While the
//          network is not in use, the opposite bet is made, with `back_blocks`; winning it puts the network in use
// Trial    for a network with a certificate. It is put in use if the first blocks cost no more, within
//          `trial_tolerance`. It is withdrawn when it has cost `trial_loss_s` more in total, in seconds of the copies'
//          power, unless it has proved itself before. The next trial is after `rest_s`. This bounds the cost per day,
//          and a bad day does not exclude the network for ever
// Errors   none: values that are not finite are ignored
// Threads  value, single owner
#pragma once

#include <cstdint>
#include <string_view>

#include "common/stats/cusum.hpp"

namespace wattle::stats {

enum class NetworkState : std::uint8_t { candidate, on_trial, in_use, withdrawn };
std::string_view to_string(NetworkState state);  // as in documents and metrics: "on_trial"
std::string_view words(NetworkState state);      // as in sentences: "is on trial"

struct NetworkTrialOptions {
  double run_blocks = 2000;  // with blocks of ten decisions one false alarm in 20,000 decisions
  double back_blocks = 200;
  double least_stake = 0.05, largest_stake = 0.9;
  double memory_blocks = 50;     // over which stakes are set
  bool begins_gated = false;     // a network must be shown to be ahead before it serves
  bool begins_on_trial = false;  // begins gated, but needs less evidence to serve
  std::uint64_t trial_blocks = 3;
  double trial_tolerance = 0.01;
  double trial_loss_s = 0.005 * 86'400;  // half a percent of a day's joules
  double rest_s = 86'400;
};

// State to keep over a restart.
struct SavedTrial {
  bool network_gated = false;
  double evidence = 0, mean = 0, mean_square = 1;
  std::uint64_t blocks = 0, changes = 0;
  bool on_trial = false;
  double trial_s = 0,
         behind_s = 0;  // of blocks on trial: their length, and their additional cost, in seconds of the copies' power
  double rest_s = 0;    // until it is retried; 0: not waiting
};

class NetworkTrial {
 public:
  explicit NetworkTrial(NetworkTrialOptions options = {})
      : options_(options),
        gated_(options.begins_gated || options.begins_on_trial),
        capital_(capital_of(gated_)),
        on_trial_(options.begins_on_trial) {}
  // Adds a block of that length. Returns true if the verdict changed.
  bool add(double difference, double block_s = 0);
  NetworkState state() const;
  bool in_use() const { return !gated_; }
  void restart() { *this = NetworkTrial(options_); }
  // True while the network is in a trial, or in use because of one.
  bool cost_is_bounded() const { return on_trial_; }
  bool rests() const { return rest_s_ > 0; }  // withdrawn until the next trial
  SavedTrial saved() const {
    return {gated_, capital_.level(), mean_, square_, blocks_, changes_, on_trial_, trial_s_, behind_s_, rest_s_};
  }
  // Returns false, without a change, if no test can have this state.
  bool restore(const SavedTrial& saved);

  double evidence() const {
    return capital_.level();
  }                                                  // log evidence of being behind; while gated, of being ahead again
  double limit() const { return capital_.limit(); }  // level at which the verdict changes
  double mean() const { return mean_; }              // recent; positive: behind
  std::uint64_t blocks() const { return blocks_; }
  std::uint64_t changes() const { return changes_; }
  const NetworkTrialOptions& options() const { return options_; }

 private:
  double stake(double sign) const;
  bool trial_over(double difference, double block_s);
  void rest(double block_s);
  Cusum capital_of(bool gated, double level = 0) const;  // log

  NetworkTrialOptions options_;
  bool gated_ = false;
  Cusum capital_;
  double mean_ = 0, square_ = 1;
  std::uint64_t blocks_ = 0, changes_ = 0;
  bool on_trial_ = false;
  double trial_s_ = 0, behind_s_ = 0, rest_s_ = 0;
};

}  // namespace wattle::stats
