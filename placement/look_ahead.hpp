// look_ahead: pods that will ask next as context of a decision: which nodes would, with this pod, leave one of them without room.
// Counts   only pods that few nodes have room for: who fits on more nodes than there are pods in all finds room whatever the others do.
//          They are packed onto what is left, the pod with the fewest nodes first, each where it leaves the least CPU; one that finds
//          no room on a node that is awake wakes one; one that finds none at all is left out
// Rooms    by request, memory and number of pods, on nodes that may take the pod now (mask_reason); start caps are not counted twice
// Cost     pods x nodes while nodes with room are few, else pods x pods
// Errors   none
// Threads  pure
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "placement/cluster_view.hpp"
#include "placement/features.hpp"

namespace wattle::placement {

inline constexpr std::size_t kMaxAhead = 16;  // pods that are looked at; what comes behind them is not

// What a decision may look at beside its own pod and the cluster, and what it may do beside naming a node.
struct Ahead {
  std::span<const PodSpec> next;  // that ask next, in their order
  double defer_s = 0;             // the pod may wait so long yet; 0: it is placed now
};

// Of the next pods, compared with how they would fare without this one.
struct RoomLoss {
  std::uint32_t left_out = 0;  // so many fewer find room
  std::uint32_t woken = 0;     // so many more nodes are woken for them
  auto operator<=>(const RoomLoss&) const = default;
};

// One for each of `rows`, indices into the view's nodes; of those in `feasible` (places in rows) the pod may take one.
std::vector<RoomLoss> room_losses(const ClusterView& view, std::span<const std::size_t> rows,
                                  std::span<const std::size_t> feasible, const PodSpec& pod,
                                  std::span<const PodSpec> next, const MaskOptions& mask);

}  // namespace wattle::placement
