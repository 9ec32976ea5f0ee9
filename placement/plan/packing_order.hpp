// packing_order: an order in which nodes take pods first fit where pods come and go and empty nodes sleep. Each node is
// filled before the next one wakes, so the order alone decides which nodes are awake at a given number of pods.
// Cost     of an order: its watts at each expected number of requested cores (full nodes, one node in part, the others
//          asleep), mean over those numbers, waiting at its price (placement/worth/objective). The numbers are the
//          forecast's, spread by the chance of the pods at hand and raised by the stragglers that keep a node awake
// Search   starts with the node of least watts per core that it can expect to hold, and so on, and moves nodes by a few
//          positions while that costs less. Without expectations nodes are sorted by watts per place when filled
// Former   an order stays until another is cheaper by kKeepOrder, because pods end on old nodes and arrive on new
//          ones, and while more is requested than the forecast has seen, because its numbers are too low then
// Units    watts per place of the usual pod
// Errors   none: a node without room comes last
// Threads  immutable after construction
#pragma once

#include <cstddef>
#include <vector>

#include "placement/cluster/fleet.hpp"

namespace wattle::placement {

class PackingOrder {
 public:
  static constexpr double kKeepOrder = 0.01;

  // `former`: the order in use so far; null: none.
  explicit PackingOrder(const Fleet& fleet, const PackingOrder* former = nullptr);

  // Nodes by index, first to fill first.
  const std::vector<std::size_t>& nodes() const { return order_; }
  // Watts of a place on the node when it is filled, rising strictly along the order.
  double place_w(std::size_t node) const { return place_w_[node]; }

 private:
  struct Costs;

  std::vector<std::size_t> order_;
  std::vector<double> place_w_;
};

}  // namespace wattle::placement
