// latency_histogram: a service's own page of metrics to how many requests it answered, and how many of them too late.
// Source   Prometheus text format 0.0.4: the lines NAME_bucket{...,le="BOUND"} of one histogram, whose bounds are seconds
// Gives    sums over all of its label sets, or over those that have the labels asked for
// Rules    too late is what is above the largest bound that is not above the target: exact where the target is a bound, else
//          more than it was
// Errors   not_found: no such histogram; out_of_range: no bound at or below the target, or more than kMaxBucketLines or
//          kMaxBounds; malformed: a line of it that is none, counts that cannot be, label sets with unlike bounds
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
  std::map<std::string, std::string> labels;  // that a line must have; empty: any
  double target_s = 0;
};

struct LateRequests {
  std::uint64_t count = 0, over = 0;  // since the service started; over <= count
  double bound_s = 0;                 // above which a request was counted as too late
};

// A name that a metric may have.
bool valid_metric_name(std::string_view name);
Result<LateRequests> read_late_requests(std::string_view page, const HistogramQuery& query);

}  // namespace wattle::agent
