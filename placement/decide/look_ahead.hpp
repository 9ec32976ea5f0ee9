// look_ahead: considers the pods that will be placed next: finds the nodes on which this pod would leave one of them
// without room.
// Counts   only pods that few nodes have room for. A pod that fits on more nodes than there are pods always finds room.
//          Pods are packed onto the remaining room, the one with the fewest nodes first, each where it leaves the least
//          CPU. A pod without room on an awake node wakes one; a pod without room anywhere is left out
// Room     by request, memory and number of pods, on nodes that may take the pod now (mask_reason); start caps are not
//          counted twice
// Cost     pods x nodes while nodes with room are few, else pods x pods
// Errors   none
// Threads  pure
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "placement/cluster/cluster_view.hpp"
#include "placement/worth/features.hpp"

namespace wattle::placement {

inline constexpr std::size_t kMaxAhead = 16;  // pods considered; later pods are ignored

// The next pods as context of a decision, and its permission to defer.
struct Ahead {
  std::span<const PodSpec> next;  // the next pods, in order
  double defer_s = 0;             // time that the pod may still wait; 0: it is placed now
};

// Loss of the next pods compared with a cluster without this one.
struct RoomLoss {
  std::uint32_t left_out = 0;  // additional pods without room
  std::uint32_t woken = 0;     // additional nodes woken
  auto operator<=>(const RoomLoss&) const = default;
};

// Returns one entry per `rows` (indices into the view's nodes). `feasible`: positions in rows that may take the pod.
std::vector<RoomLoss> room_losses(const ClusterView& view, std::span<const std::size_t> rows,
                                  std::span<const std::size_t> feasible, const PodSpec& pod,
                                  std::span<const PodSpec> next, const MaskOptions& mask);

}  // namespace wattle::placement
