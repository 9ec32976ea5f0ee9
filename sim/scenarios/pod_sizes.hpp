// pod_sizes: requests and lifetimes of the pods of a production cluster.
// Source   openb_pods.csv with openb_nodes.csv beside it (alibaba/clusterdata, cluster-trace-gpu-v2023), or a model of
//          it: cores in steps, memory per core, lifetimes log-normal over two decades
// Units    cores as a share of that cluster's mean node, so that they fit any fleet; bytes per core; seconds
// Errors   load_pod_sizes: not_found, malformed with file and line
// Threads  values, pure functions
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.hpp"

namespace wattle::sim::consolidation {

struct PodSize {
  double share_of_node = 0;  // of the cores of a mean node
  double bytes_per_core = 0;
  double life_s = 0;
  bool operator==(const PodSize&) const = default;
};

// Skips pods that never ended, or ended before they began. `mean_node_cores`: of the pods' cluster.
Result<std::vector<PodSize>> parse_pod_sizes(std::string_view csv, const std::string& file, double mean_node_cores);
Result<double> parse_mean_node_cores(std::string_view csv, const std::string& file);
// Returns an empty list if the folder has no openb_pods.csv.
Result<std::vector<PodSize>> load_pod_sizes(const std::string& trace_dir);
std::vector<PodSize> synthetic_pod_sizes(std::size_t pods, std::uint64_t seed);

}  // namespace wattle::sim::consolidation
