// network_trial: the state of a network, and the test of evidence, block by block, that changes it. The verdict is
// valid at any time, with a stated rate of false alarms.
// States   candidate: not used, only compared. on_trial: takes turns or blocks. in_use: it may act. withdrawn: it was
//          behind; it returns when it is shown to be ahead
// Input    per block the cost of the network's choices beyond those of the incumbent, relative to the larger of both:
//          within -1..1; positive if the network costs more
// Method   betting against "not behind": capital grows by log(1 + stake x difference), the stake set from earlier
//          blocks only, never below 0 (a CUSUM of a test martingale). For any distribution and dependence of the
//          differences, as long as each is 0 or less on average given the past, the mean number of blocks to a false
//          alarm is at least `run_blocks` (e-detector: Shin, Ramdas, Rinaldo 2022; Ville's inequality). While the
//          network is not in use, the opposite bet is made, with `back_blocks`; winning it puts the network in use
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
  double memory_blocks = 50;  // that set the stakes
  bool begins_gated = false;  // a network must be shown to be ahead before it serves
};

// State to keep over a restart.
struct SavedTrial {
  bool network_gated = false;
  double evidence = 0, mean = 0, mean_square = 1;
  std::uint64_t blocks = 0, changes = 0;
};

class NetworkTrial {
 public:
  explicit NetworkTrial(NetworkTrialOptions options = {})
      : options_(options), gated_(options.begins_gated), capital_(capital_of(gated_)) {}
  // Adds a block. Returns true if the verdict changed.
  bool add(double difference);
  NetworkState state() const;
  bool in_use() const { return !gated_; }
  void restart() { *this = NetworkTrial(options_); }
  SavedTrial saved() const { return {gated_, capital_.level(), mean_, square_, blocks_, changes_}; }
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
  Cusum capital_of(bool gated, double level = 0) const;  // log

  NetworkTrialOptions options_;
  bool gated_ = false;
  Cusum capital_;
  double mean_ = 0, square_ = 1;
  std::uint64_t blocks_ = 0, changes_ = 0;
};

}  // namespace wattle::stats
