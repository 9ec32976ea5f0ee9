// latency_histogram: reads from a service's metrics page how many requests it answered, and how many of them too late.
// Source   Prometheus text format 0.0.4: the lines NAME_bucket{...,le="BOUND"} of one histogram, whose bounds are
//          seconds
// Gives    sums over all of its label sets, or over those with the requested labels
// Rules    requests above the largest bound at or below the target are late: exact if the target is a bound, otherwise
//          an overestimate
// Errors   not_found: no such histogram; out_of_range: no bound at or below the target, or more than kMaxBucketLines or
//          kMaxBounds; malformed: an invalid line, impossible counts, label sets with different bounds
// Threads  pure
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "common/result.hpp"

namespace wattle::agent {

inline constexpr std::size_t kMaxBucketLines = 20'000;
inline constexpr std::size_t kMaxBounds = 256;

struct HistogramQuery {
  std::string name;                           // "http_request_duration_seconds"
  std::map<std::string, std::string> labels;  // required labels; empty: any
  double target_s = 0;
};

struct LateRequests {
  std::uint64_t count = 0, over = 0;  // since the service started; over <= count
  double bound_s = 0;                 // requests above this were counted as late
};

// Returns whether a metric may have this name.
bool valid_metric_name(std::string_view name);
Result<LateRequests> read_late_requests(std::string_view page, const HistogramQuery& query);

}  // namespace wattle::agent
