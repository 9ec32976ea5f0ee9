// student_trial: does the network that moves a workload's margin let it be throttled more than it may? Decided minute after minute, at any
// time, with a stated rate of false alarms.
// Input    of each minute in which the network had its way, the share of periods that were throttled
// Method   betting against "at most `most_ratio` on average": capital grows by log(1 + stake x (share - most_ratio)), never below 0 (a CUSUM
//          of a test martingale). Whatever the shares' distribution, and however they depend on earlier ones, as long as each is at
//          most that on average given the past, n minutes have a false alarm with a probability of at most n / kRunMinutes (e-detector: Shin,
//          Ramdas, Rinaldo 2022): a week 1%
// Units    shares
// Errors   none: what is no share is not added
// Threads  value, single owner
#pragma once

#include <cstdint>

#include "common/stats/cusum.hpp"

namespace wattle::actuator {

class StudentTrial {
 public:
  static constexpr double kRunMinutes = 1e6;
  // Of a margin that keeps a 99th percentile of latency: simulated, up to 0.18 of periods are throttled on average.
  static constexpr double kMostRatio = 0.2;

  explicit StudentTrial(double most_ratio = 1);
  // True: with this minute it is out.
  bool add(double throttled_ratio);
  // For good: another network begins anew.
  bool out() const { return out_; }
  std::uint64_t minutes() const { return minutes_; }
  double mean_ratio() const { return mean_ratio_; }  // of the last hour or so

 private:
  double most_ratio_;
  stats::Cusum capital_;  // log
  bool out_ = false;
  std::uint64_t minutes_ = 0;
  double mean_ratio_ = 0;
};

}  // namespace wattle::actuator
