// pod_sums: what the pods of a node ask for together, kept up to date pod by pod.
// Model    cores are added up in whole billionths: what is added and taken away again leaves nothing behind, in whatever order
// Units    cores, bytes
// Errors   none
// Threads  values
#pragma once

#include <cmath>
#include <cstdint>

#include "placement/cluster_view.hpp"

namespace wattle::controller {

// Up to 9e6 cores and 9e15 bytes the sums are exact.
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
  RequestSum unsettled;          // predicted use
  std::uint64_t daemonsets = 0;  // of the bound ones: they take no place
};

}  // namespace wattle::controller
