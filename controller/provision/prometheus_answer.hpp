// prometheus_answer: parses Prometheus' answer to an instant query into one number per workload.
// Source   GET or POST /api/v1/query (https://prometheus.io/docs/prometheus/latest/querying/api/): an instant vector.
//          The label `workload` names a service or VM as agents do, with the label `node` on one node only. With the
//          label `namespace` it is the owner of pods, the part after the slash in `wattle provision list`
// Skips    and counts: values that are not finite (for example without requests) or out of range, series without label
//          `workload`, and all series of a repeated key
// Errors   malformed: another shape, or more than kMostSeries; unavailable: Prometheus' own error, with its message
// Threads  pure
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "common/result.hpp"

namespace wattle::controller {

inline constexpr std::size_t kMostSeries = 20'000;

// Node (empty: any) and name; for owners of pods the name is "namespace/owner".
using TrafficKey = std::pair<std::string, std::string>;

struct TrafficValues {
  std::map<TrafficKey, double> values;
  std::size_t no_number = 0, out_of_range = 0, unnamed = 0, twice = 0;
  std::string example;  // labels of a skipped series, except those with a non-finite value
};

// `subject` names the server and the query in errors. Accepts values from 0 to `most`.
Result<TrafficValues> parse_prometheus(std::string_view body, double most, const std::string& subject);

}  // namespace wattle::controller
