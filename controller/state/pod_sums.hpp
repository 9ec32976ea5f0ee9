// pod_sums: sums the requests of a node's pods, updated pod by pod.
// Model    cores are added in whole billionths, so that adding and removing in any order leaves no rounding error
// Units    cores, bytes
// Errors   none
// Threads  values
#pragma once

#include <cmath>
#include <cstdint>

#include "placement/cluster/cluster_view.hpp"

namespace wattle::controller {

// Exact up to 9e6 cores and 9e15 bytes.
class RequestSum {
 public:
  void add(const placement::Resources& request, double sign) {
    nano_cores_ += sign * std::round(request.cpu_cores * kNano);
    bytes_ += sign * std::round(request.memory_bytes);
  }
  placement::Resources request() const { return {nano_cores_ / kNano, bytes_}; }

 private:
  static constexpr double kNano = 1e9;
  double nano_cores_ = 0, bytes_ = 0;
};

struct PodSums {
  RequestSum bound, in_flight;
  RequestSum unsettled;          // predicted usage
  RequestSum leaving;            // predicted usage of pods that are being deleted, where telemetry contains it
  std::uint64_t daemonsets = 0;  // bound DaemonSet pods, which take no place
};

}  // namespace wattle::controller
