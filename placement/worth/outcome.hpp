// outcome: takes the snapshot of the cluster just before a placement; rewards need it (placement/worth/reward).
// Units    in names
// Errors   none; values that are not finite count as 0
// Threads  pure functions
#pragma once

#include <cstddef>

#include "placement/cluster/cluster_view.hpp"
#include "placement/worth/reward.hpp"

namespace wattle::placement {

WorkerBefore worker_before(const NodeView& node);

// Takes the snapshot for RawOutcome::before and the other values known at placement. Uses the limits that decide()
// used.
RawOutcome begin_outcome(const ClusterView& view, const PodSpec& pod, std::size_t node, const RewardConfig& reward);

}  // namespace wattle::placement
