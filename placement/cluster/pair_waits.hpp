// pair_waits: learns from the waiting of pods which applications make each other wait (placement/cluster/pair_excess).
// Model    the node itself causes the smaller of the least waiting of the other pods there and the waiting that its
//          curve predicts. The curve alone does not suffice, because it may have learned the waiting of pairs as if it
//          were load. If three or more pods wait equally, the node is the cause, regardless of its curve
// Units    in names
// Errors   none
// Threads  a function of its arguments
#pragma once

#include <vector>

#include "placement/cluster/cluster_view.hpp"
#include "placement/cluster/pair_excess.hpp"
#include "placement/cluster/running_pods.hpp"

namespace wattle::placement {

// The nodes of `waits` have rows in the view.
void learn_pairs(const std::vector<PodWait>& waits, const ClusterView& view, PairExcess& pairs);

}  // namespace wattle::placement
