// replica_rule: how many replicas of one workload the requests that are expected need.
// Model    a replica answers `aim` of what it requests over the CPU time of a request; that is a mean of late. Wanted is the least number
//          that answers the upper end of what is expected (rate_forecast)
// Aim      `aim_ratio` at first and at most. Where it is told how many requests are late: down in a minute with more than `late_ratio`
//          although there were replicas enough, up in one with fewer
// Steady   up at once; down to the most that was wanted in `down_minutes`, and not before so many are known. Never below what the owner asks for
// Units    requests/s, cores, seconds of the wall clock; shares of requests
// Errors   minutes that are no numbers, or that no replica was there for, are not taken; after ten without a rate `down_minutes` begin anew
// Threads  values; single owner
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "placement/rate_forecast.hpp"

namespace wattle::placement {

struct ReplicaOptions {
  double aim_ratio = 0.7;
  double least_aim_ratio = 0.35;
  double late_ratio = 0.003;              // as nodes' rule of margins has it
  double aim_down = 0.95, aim_up = 1.01;  // factors, a minute
  double memory_minutes = 120;            // of the CPU time of a request
  std::size_t least_minutes = 10;         // with requests and their usage, before anything is said
  double least_requests = 30;             // of a minute that it is learned from
  std::size_t down_minutes = 30;
  std::size_t most = 10'000;
};

struct ReplicaMinute {
  double rate_rps = 0;               // of all replicas together
  std::optional<double> used_cores;  // likewise; absent: too few were heard of
  double request_cores = 0;          // of one
  std::size_t replicas = 0;
  std::size_t least = 1;  // that the owner asks for
  std::optional<double> late_ratio;
};

struct SuggestedReplicas {
  std::size_t replicas = 0;
  ExpectedRate expected;
  double core_s_per_request = 0;
  double aim_ratio = 0;
  double replica_rps = 0;  // that one answers
};

class ReplicaRule {
 public:
  explicit ReplicaRule(ReplicaOptions options = {}) : options_(options), aim_ratio_(options.aim_ratio) {}

  // The minute that ends at `now_s`.
  void add(const ReplicaMinute& minute, double now_s);
  // Absent: too little is known.
  std::optional<SuggestedReplicas> next() const { return next_; }
  ForecastScore score() const { return forecast_.score(); }
  std::optional<double> rate_rps() const { return rate_rps_; }
  // Nobody tells the rate any more.
  void silent() {
    next_.reset();
    rate_rps_.reset();
  }

 private:
  void learn(const ReplicaMinute& minute);

  ReplicaOptions options_;
  RateForecast forecast_;
  double aim_ratio_;
  double core_s_ = 0, requests_ = 0;  // faded
  std::size_t minutes_ = 0;           // learned from
  std::deque<std::size_t> wanted_;    // in the last minutes
  std::optional<double> rate_rps_;
  std::optional<SuggestedReplicas> next_;
};

}  // namespace wattle::placement
