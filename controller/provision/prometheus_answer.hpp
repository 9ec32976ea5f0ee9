// prometheus_answer: what Prometheus says to an instant query, as a number per workload.
// Source   GET or POST /api/v1/query (https://prometheus.io/docs/prometheus/latest/querying/api/): an instant vector. Label `workload` names
//          whose it is: a service or VM as agents name it, with label `node` that of one node. With label `namespace` it is the owner of pods,
//          as `wattle provision list` names it behind the slash
// Left out and counted: what is no number (NaN, infinite: nothing came, say), outside of the range, without label `workload`, and all of
//          those that are there more than once
// Errors   malformed: another shape, or more than kMostSeries; unavailable: Prometheus' own error, with its words
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

// Node (empty: any) and name; of pods' owners the name is "namespace/owner".
using TrafficKey = std::pair<std::string, std::string>;

struct TrafficValues {
  std::map<TrafficKey, double> values;
  std::size_t no_number = 0, out_of_range = 0, unnamed = 0, twice = 0;
  std::string example;  // of one that was left out, but for no number: its labels
};

// `subject` names whom was asked what, in errors. Values are within 0 and `most`.
Result<TrafficValues> parse_prometheus(std::string_view body, double most, const std::string& subject);

}  // namespace wattle::controller
