// traffic: request rate and latency of a workload from a source other than its node.
// Units    requests/s; shares of requests; p99 over its limit
// Errors   none; unknown values have no value
// Threads  sources are called from any thread
#pragma once

#include <optional>
#include <string>

namespace wattle::controller {

struct Traffic {
  std::optional<double> rate_rps;
  std::optional<double> late_ratio;
  std::optional<double> p99_over_target;
};

class TrafficSource {
 public:
  TrafficSource() = default;
  TrafficSource(const TrafficSource&) = delete;
  TrafficSource& operator=(const TrafficSource&) = delete;
  virtual ~TrafficSource() = default;
  // `name`: a service or VM of that node, or "namespace/owner" of pods with the node "".
  virtual Traffic traffic(const std::string& node, const std::string& name) const = 0;
};

}  // namespace wattle::controller
