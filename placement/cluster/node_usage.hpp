// node_usage: the usage of nodes outside their pods, and how much more nodes deviate from expectations than independent
// pods would.
// Other    usage of a node without its pods' latest usage, averaged over five minutes. If none of a node's pods is
//          reported, its whole usage counts as other usage
// Spread   a node deviates more from its expected usage than independent pods would (common peaks, wrong means). The
//          factor of their variances is measured over all nodes during the last half hour
// Units    in names
// Errors   none; readings that are not finite are ignored
// Threads  value
#pragma once

#include "placement/cluster/cluster_view.hpp"
#include "placement/cluster/known_node.hpp"

namespace wattle::placement {

class NodeUsage {
 public:
  // Adds a reading of the node.
  void add(const NodeView& node, KnownNode& known, double passed_s);
  // Ends the round of add() over all nodes.
  void end_round(double passed_s);
  // Factor of the variances, at least 1.
  double spread() const;

 private:
  double strayed_ = 0, foreseen_ = 0;                // in this round
  double strayed_cores2_ = 0, foreseen_cores2_ = 0;  // decaying means
};

}  // namespace wattle::placement
