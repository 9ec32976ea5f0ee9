// student_trial: tests, minute by minute, whether a network that moves a workload's margin lets it be throttled too
// much. May be checked at any time, with a known rate of false alarms.
// Input    the share of throttled periods in each minute in which the network set the margin
// Method   betting against "at most `most_ratio` on average": capital grows by log(1 + stake x (share - most_ratio)),
//          never below 0 (a CUSUM of a test martingale). For any distribution of the shares, and any dependence on
//          earlier ones, as long as each is at most `most_ratio` on average given the past, n minutes have a false
//          alarm with probability at most n / kRunMinutes (e-detector: Shin, Ramdas, Rinaldo 2022): 1% per week
// Units    shares
// Errors   none: ignores values that are not shares
// Threads  value, single owner
#pragma once

#include <cstdint>

#include "common/stats/cusum.hpp"

namespace wattle::actuator {

class StudentTrial {
 public:
  static constexpr double kRunMinutes = 1e6;
  // Matches a margin that keeps a 99th percentile of latency: simulated, up to 0.18 of periods are throttled on
  // average.
  static constexpr double kMostRatio = 0.2;

  explicit StudentTrial(double most_ratio = 1);
  // Returns true if the network fails with this minute.
  bool add(double throttled_ratio);
  // Returns whether the network has failed; permanent, until a new network gets a new trial.
  bool out() const { return out_; }
  std::uint64_t minutes() const { return minutes_; }
  double mean_ratio() const { return mean_ratio_; }  // over about the last hour

 private:
  double most_ratio_;
  stats::Cusum capital_;  // logarithm
  bool out_ = false;
  std::uint64_t minutes_ = 0;
  double mean_ratio_ = 0;
};

}  // namespace wattle::actuator
