// kube_scoring: scores of a default kube-scheduler for a pod and its feasible nodes, in its own integer arithmetic.
// Source   kubernetes pkg/scheduler/framework/plugins/noderesources (least_allocated, most_allocated,
//          balanced_allocation as in 1.36 and later; useRequested differs between them) and util/pod_resources.go
//          (100m, 200 MiB for a pod without requests)
// Units    CPU in millicores, memory in bytes, scores 0..100 per plugin; both plugins have weight 1 by default
// Errors   none
// Threads  pure
#pragma once

#include <cstdint>

#include "placement/cluster/cluster_view.hpp"
#include "placement/cluster/fleet.hpp"

namespace wattle::placement {

inline constexpr std::int64_t kMaxNodeScore = 100;
inline constexpr std::int64_t kDefaultMilliCpuRequest = 100;
inline constexpr std::int64_t kDefaultMemoryRequestBytes = 200LL * 1024 * 1024;

// A node as in the scheduler's cache.
struct KubeNode {
  std::int64_t allocatable_milli_cpu = 0, allocatable_memory_bytes = 0, allocatable_pods = 110;
  std::int64_t requested_milli_cpu = 0, requested_memory_bytes = 0;  // as requested
  std::int64_t nonzero_milli_cpu = 0, nonzero_memory_bytes = 0;      // with defaults for missing requests
  std::int64_t pods = 0;
};

struct KubePod {
  std::int64_t milli_cpu = 0, memory_bytes = 0;  // 0: not requested
  std::int64_t nonzero_milli_cpu() const { return milli_cpu ? milli_cpu : kDefaultMilliCpuRequest; }
  std::int64_t nonzero_memory_bytes() const { return memory_bytes ? memory_bytes : kDefaultMemoryRequestBytes; }
};

KubePod kube_pod(const Resources& request);
void add_pod(KubeNode& node, const KubePod& pod);
void remove_pod(KubeNode& node, const KubePod& pod);

// NodeResourcesFit as a filter: requests (not defaults) and the pod count.
bool fits(const KubeNode& node, const KubePod& pod);
// NodeResourcesFit's score with LeastAllocated.
std::int64_t least_allocated(const KubeNode& node, const KubePod& pod);
// NodeResourcesFit's score with MostAllocated.
std::int64_t most_allocated(const KubeNode& node, const KubePod& pod);
// NodeResourcesBalancedAllocation: 75 if the pod keeps the node's balance, 0 if it requests nothing (skipped plugin).
std::int64_t balanced_allocation(const KubeNode& node, const KubePod& pod);
inline std::int64_t default_score(const KubeNode& node, const KubePod& pod) {
  return least_allocated(node, pod) + balanced_allocation(node, pod);
}

}  // namespace wattle::placement
