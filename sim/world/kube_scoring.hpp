// kube_scoring: the node that a default kube-scheduler binds to, from its own scores
// (placement/decide/policies/kube_scoring) and an extender's.
// Source   NodeResourcesFit and BalancedAllocation
// Errors   none
// Threads  pure except for the generator passed in
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "placement/decide/policies/kube_scoring.hpp"

namespace wattle::sim {

using placement::add_pod;
using placement::balanced_allocation;
using placement::default_score;
using placement::fits;
using placement::kDefaultMemoryRequestBytes;
using placement::kDefaultMilliCpuRequest;
using placement::kMaxNodeScore;
using placement::kube_pod;
using placement::KubeNode;
using placement::KubePod;
using placement::least_allocated;
using placement::most_allocated;
using placement::remove_pod;

inline constexpr std::int64_t kMaxExtenderPriority = 10;  // an extender's 0..10 is scaled to 0..100, then weighted

// Returns the index of the node that the scheduler binds to: highest default score plus extender score (0..10) x weight
// x 10, ties at random. No value if none fits. `extender_scores` is empty without an extender, otherwise one per node.
std::optional<std::size_t> select_node(std::span<const KubeNode> nodes, const KubePod& pod,
                                       std::span<const std::int64_t> extender_scores, std::int64_t extender_weight,
                                       std::mt19937_64& random);

// The extender's weight in the demo and in the manifests.
inline constexpr std::int64_t kExtenderWeight = 6;

}  // namespace wattle::sim
