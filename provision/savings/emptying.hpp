// emptying: finds the nodes of a fleet that can be left empty when its pods are packed together.
// Method   tries the nodes one by one, starting with the most idle watts per capacity that its pods use. A node is
//          emptied if all of its pods have room on others; each is placed on the first with room, in the reverse order.
//          A moved pod may move again. Nodes without pods are empty from the start
// Assumes  only requests limit a node. Affinity, topology spread and disruption budgets are not considered
// Cost     a step per node; a moved pod costs the logarithm of the number of nodes
// Units    cores, bytes, watts
// Errors   none; values must be finite. An overcommitted node takes no pod
// Threads  single owner
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "placement/cluster/cluster_view.hpp"

namespace wattle::placement {

struct PackedNode {
  Resources allocatable;
  Resources fixed;  // requested by pods that stay with the node, such as those of DaemonSets
  std::uint64_t pod_capacity = 110, fixed_pods = 0;
  double idle_w = 0;
  bool open = true;  // false: it keeps its pods and takes no others
};

struct PackedPod {
  std::size_t node = 0;
  Resources request;
};

// The larger of the shares of cores and memory.
double share_of_node(const PackedNode& node, const Resources& request);

class Emptying {
 public:
  Emptying(std::vector<PackedNode> nodes, std::vector<PackedPod> pods);

  // Tries one node. Returns true while nodes remain.
  bool step();
  // Nodes without a pod, in the order in which they became empty.
  const std::vector<std::size_t>& emptied() const { return emptied_; }
  // The pods, with the nodes that they are on now.
  const std::vector<PackedPod>& pods() const { return pods_; }

 private:
  struct Room {
    double cpu_cores = -1, memory_bytes = -1, pods = -1;  // below 0: takes no pod
  };
  bool has(const Room& room, const Resources& request) const;
  void set_room(std::size_t node, const Room& room);
  // The first open node with room; no value if there is none.
  std::size_t first_with_room(const Resources& request, std::size_t at) const;
  bool empty(std::size_t node);
  void move(std::size_t pod, std::size_t to, Room& from_room);

  std::vector<PackedNode> nodes_;
  std::vector<PackedPod> pods_;
  std::vector<std::vector<std::size_t>> pods_of_;
  std::vector<std::size_t> order_;  // order in which nodes are tried
  std::vector<std::size_t> place_;  // of a node in the tree: the last to be tried is the first
  std::vector<Room> room_;          // a binary tree of maxima; the leaves are nodes
  std::size_t leaves_ = 1, tried_ = 0;
  std::vector<std::size_t> emptied_;
};

}  // namespace wattle::placement
