// default_choice: the node that the default scheduler would choose for a pod on a copy of the cluster.
// Scores   NodeResourcesFit with LeastAllocated and BalancedAllocation (placement/decide/policies/kube_scoring); ties
//          at random. Topology spread and preferences of pods are not modelled
// Nodes    those that the scheduler offered for the pod, those that it left out because the pod does not fit there in
//          the real cluster, and those that sleep in the real cluster. Each counts only if the pod fits on the copy,
//          where all nodes are awake
// Errors   none
// Threads  pure except for the generator passed in
#pragma once

#include <cstddef>
#include <optional>
#include <random>
#include <span>

#include "placement/judge/shadow_cluster.hpp"

namespace wattle::placement {

// `offered`: rows of the view. No value if the pod fits on no such node of the copy.
std::optional<std::size_t> default_choice(const ClusterView& view, const PodSpec& pod,
                                          std::span<const std::size_t> offered, const AdvisedCluster& copy,
                                          std::mt19937_64& random);

}  // namespace wattle::placement
