// soft_masks: feasible nodes that a pod should avoid while others can take it: nodes and zones that hold their share of
// the owner's replicas, and nodes with a PreferNoSchedule taint that the pod does not tolerate.
// Rules    A node or zone may hold max(1, floor(share x replicas)) replicas of one owner. `replicas` counts those that
//          are placed or in flight anywhere in the cluster, and the pod itself. A node without a zone is subject to no
//          zone's share. Each node has (replicas above the zone's share, replicas above the node's share, taints that
//          are not tolerated), and only the nodes with the lexicographically smallest triple stay. A soft mask
//          therefore never excludes every feasible node, and a share below 1 never gives all replicas to one node or
//          zone while two are feasible
// Skips    DaemonSet pods, static pods and pods that are bound already
// Errors   none
// Threads  pure
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "placement/cluster/cluster_view.hpp"

namespace wattle::placement {

// Shares of one owner's replicas. 1: no cap.
struct OwnerShare {
  double node = 0.5;
  double zone = 0.5;
  bool operator==(const OwnerShare&) const = default;
};

// Number of replicas that one node or zone may hold, of `replicas` in total.
std::uint64_t replica_cap(double share, std::uint64_t replicas);

// PreferNoSchedule taints of the node that the pod does not tolerate.
std::uint64_t soft_taints_against(const NodeView& node, const PodSpec& pod);

// Adds reasons to feasible rows and returns whether it did. `rows` are indices into the view's nodes; `masked` has one
// reason per row, empty where the node is feasible. The texts are static.
bool add_soft_masks(const ClusterView& view, std::span<const std::size_t> rows, const PodSpec& pod,
                    const OwnerShare& share, std::vector<std::string_view>& masked);

inline constexpr std::int64_t kTopScore = 10;  // of the advised node

// Returns the part of a decision's reason about the pod's preferences; empty if it has none.
std::string preference_note(const PodSpec& pod);

}  // namespace wattle::placement
