// replica_rule: the number of replicas that one workload needs for the expected requests.
// Model    a replica serves `aim` of its CPU request over the recent mean CPU time per request. The rule wants the
//          least number of replicas that serves the upper end of the forecast (rate_forecast)
// Aim      starts at `aim_ratio`, its maximum. If late requests are reported, it falls in a minute with more than
//          `late_ratio` despite enough replicas, and rises in a minute with fewer
// Steady   up at once; down to the maximum of the last `down_minutes`, and only once this many are known. Never below
//          the owner's number
// Units    requests/s, cores, seconds of the wall clock; shares of requests
// Errors   minutes that are not finite or have no replica are ignored; after ten without a rate `down_minutes` restart
// Threads  values; single owner
#pragma once

#include <cstddef>
#include <deque>
#include <optional>

#include "provision/requests/rate_forecast.hpp"

namespace wattle::placement {

struct ReplicaOptions {
  double aim_ratio = 0.7;
  double least_aim_ratio = 0.35;
  double late_ratio = 0.003;              // as in the nodes' margin rule
  double aim_down = 0.95, aim_up = 1.01;  // factors, a minute
  double memory_minutes = 120;            // of the CPU time per request
  std::size_t least_minutes = 10;         // minutes with requests and their usage that the first suggestion requires
  double least_requests = 30;             // per minute, to learn from it
  std::size_t down_minutes = 30;
  std::size_t most = 10'000;
};

struct ReplicaMinute {
  double rate_rps = 0;               // of all replicas together
  std::optional<double> used_cores;  // of all replicas together; unset if too few reported
  double request_cores = 0;          // per replica
  std::size_t replicas = 0;
  std::size_t least = 1;  // set by the owner
  std::optional<double> late_ratio;
};

struct SuggestedReplicas {
  std::size_t replicas = 0;
  ExpectedRate expected;
  double core_s_per_request = 0;
  double aim_ratio = 0;
  double replica_rps = 0;  // that one replica serves
};

class ReplicaRule {
 public:
  explicit ReplicaRule(ReplicaOptions options = {}) : options_(options), aim_ratio_(options.aim_ratio) {}

  // Adds the minute that ends at `now_s`.
  void add(const ReplicaMinute& minute, double now_s);
  // No value if there is too little data.
  std::optional<SuggestedReplicas> next() const { return next_; }
  ForecastScore score() const { return forecast_.score(); }
  std::optional<double> rate_rps() const { return rate_rps_; }
  // Reports that the rate is no longer available.
  void silent() {
    next_.reset();
    rate_rps_.reset();
  }

 private:
  void learn(const ReplicaMinute& minute);

  ReplicaOptions options_;
  RateForecast forecast_;
  double aim_ratio_;
  double core_s_ = 0, requests_ = 0;  // decaying
  std::size_t minutes_ = 0;           // minutes learned from
  std::deque<std::size_t> wanted_;    // in the last minutes
  std::optional<double> rate_rps_;
  std::optional<SuggestedReplicas> next_;
};

}  // namespace wattle::placement
