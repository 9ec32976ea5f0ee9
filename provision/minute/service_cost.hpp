// service_cost: cost of a service's minute, and the features that only a controller knows: requests, their latency and
// rate.
// Source   minutes in order: grants, usage and answered requests
// Gives    cost and need of each minute, and the latency and memory share of its ServiceMinute
// Units    cores, GiB, requests/s; costs relative to the power of the cores that the service used recently
// Errors   none
// Threads  values
#pragma once

#include <cstdint>
#include <optional>

#include "provision/minute/choice.hpp"

namespace wattle::models::provision {

struct CostedMinute {
  double used_s = 0;  // CPU time
  double used_cores = 0, granted_cores = 0;
  std::optional<double> memory_gib;  // granted to all copies; unset: memory is not managed
  std::uint64_t requests = 0, over = 0;
  double rate_rps = 0;
  double p99_over_target = 0;
};

struct MinuteCost {
  double cost = 0;
  double need = 0;  // part of the cost: arrived work at the recent CPU time per request. No choice changes it
};

class ServiceCost {
 public:
  // Returns the cost, and sets latency and memory share in `state`.
  MinuteCost add(const CostedMinute& minute, const Price& price, ServiceMinute& state);

 private:
  double used_s_per_request_ = 0, minutes_ = 0;
  double lately_cores_ = 0, over_lately_ = 0;
};

// Rate features; an expected rate of 0 means no forecast.
Rate rate_of(double rate_rps, double last_rps, double expected_rps, double expected_high_rps);

}  // namespace wattle::models::provision
