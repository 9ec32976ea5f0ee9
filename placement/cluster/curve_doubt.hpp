// curve_doubt: the share of nodes whose power curves were recently contradicted by readings, for the trust in plans,
// which rely on curves.
// Units    share 0..1; seconds
// Errors   none
// Threads  value
#pragma once

#include <cstddef>

#include "placement/cluster/known_node.hpp"
#include "placement/cluster/power_curve.hpp"

namespace wattle::placement {

class CurveDoubt {
 public:
  // Records whether the fit of the node's curve restarted since the last round.
  void add(const PowerCurve& curve, NodeCurve& known);
  // Ends the round of add() over all nodes.
  void end_round(std::size_t nodes, double passed_s);
  // Share of nodes, decaying over half an hour.
  double share() const { return share_; }

 private:
  std::size_t opened_ = 0;
  double share_ = 0;
};

}  // namespace wattle::placement
