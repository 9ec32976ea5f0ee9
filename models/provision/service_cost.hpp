// service_cost: what a minute cost a service, and what a controller knows of it beyond its node: requests, their latency, their rate.
// Source   minutes in their order: what was granted and used, and the requests that were answered
// Gives    cost and need of each, and the latency and memory share of its ServiceMinute
// Units    cores, GiB, requests/s; costs in the power of the cores that the service used of late
// Errors   none
// Threads  values
#pragma once

#include <cstdint>
#include <optional>

#include "models/provision/choice.hpp"

namespace wattle::models::provision {

struct CostedMinute {
  double used_s = 0;  // of CPU time
  double used_cores = 0, granted_cores = 0;
  std::optional<double> memory_gib;  // granted, to all copies; absent: it is left alone
  std::uint64_t requests = 0, over = 0;
  double rate_rps = 0;
  double p99_over_target = 0;
};

struct MinuteCost {
  double cost = 0;
  double need = 0;  // of it: the work that came, at what a request was worth of late. No choice changes that
};

class ServiceCost {
 public:
  // Sets what is known here in `state`.
  MinuteCost add(const CostedMinute& minute, const Price& price, ServiceMinute& state);

 private:
  double used_s_per_request_ = 0, minutes_ = 0;
  double lately_cores_ = 0, over_lately_ = 0;
};

// A rate, and what is expected to follow it; 0: nothing is known of it.
Rate rate_of(double rate_rps, double last_rps, double expected_rps, double expected_high_rps);

}  // namespace wattle::models::provision
