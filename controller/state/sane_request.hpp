// sane_request: limits a request to the size of any real machine, so that sums stay finite, as the wire format
// requires.
// Units    cores, bytes
// Threads  pure function
#pragma once

#include <algorithm>

#include "placement/cluster/cluster_view.hpp"

namespace wattle::controller {

inline placement::Resources sane_request(double cpu_cores, double memory_bytes) {
  constexpr double kMaxRequestCores = 1e6, kMaxRequestBytes = 1e18;
  return {std::clamp(cpu_cores, 0.0, kMaxRequestCores), std::clamp(memory_bytes, 0.0, kMaxRequestBytes)};
}

}  // namespace wattle::controller
