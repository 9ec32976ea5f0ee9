// traffic: the requests that a workload gets and how long they take, told by who is not its node.
// Units    requests/s; shares of requests; p99 over what it should be at most
// Errors   none; absent: not known
// Threads  of a source: any
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
  // `name`: of a service or VM of that node; of pods' owner "namespace/owner", and any node: "".
  virtual Traffic traffic(const std::string& node, const std::string& name) const = 0;
};

}  // namespace wattle::controller
