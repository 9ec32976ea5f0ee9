// pod_time: the shares of pods' time that are lost, to waiting for CPU and above soft latency limits, with their
// budgets.
// Waiting  for CPU: a curve per node around that of the fleet, fitted to reported pressure. The waited share of pod
//          time is compared with its budget (placement/worth/objective), which sets the fleet's price. Neither changes
//          while the waiting is unknown
// Late     for pods with a soft latency limit on nodes that report latency: the share of their time above the limit,
//          with a separate budget
// Acting   while a Wattle policy places pods, measurements move prices; otherwise they measure the default scheduler
// Units    in names
// Errors   none; repeated readings are ignored
// Threads  value
#pragma once

#include "placement/cluster/budget.hpp"
#include "placement/cluster/cluster_view.hpp"
#include "placement/cluster/known_node.hpp"
#include "placement/cluster/packed.hpp"
#include "placement/cluster/waiting.hpp"

namespace wattle::placement {

class PodTime {
 public:
  const Budget& cpu_wait() const { return cpu_wait_; }
  const Budget& late() const { return late_; }
  // Factor of the latency term: 1 within the budget.
  double latency_price() const { return late_.price() > 1 ? late_.price() : 1; }

  // Sets the operator's limits, and whether a Wattle policy places pods now.
  void set_limits(const BudgetLimits& limits);
  void set_acting(bool acting) { acting_ = acting; }

  // Adds a reading of a usable node.
  void add(const NodeView& node, KnownNode& known);
  // Ends the round of add() over all nodes.
  void end_round(double passed_s);

  // The late part is packed separately, because the format requires it.
  void pack(PackWriter& out) const;
  void unpack(PackReader& in);
  void pack_late(PackWriter& out) const { late_.pack(out); }
  void unpack_late(PackReader& in) { late_.unpack(in); }

 private:
  void add_waiting(const NodeView& node, KnownNode& known);
  void add_late(const NodeView& node, const KnownNode& known);

  // Sums over the nodes of a round.
  struct Round {
    double waited = 0, pods = 0, watts = 0, cores = 0;
    double late = 0, limited = 0;
  };
  Round round_;
  WaitingModel fleet_waiting_;
  Budget cpu_wait_;
  Budget late_{PriceRule{.least = 1, .most = 100, .by_guess = false, .by_response = false}};
  bool acting_ = false;
};

}  // namespace wattle::placement
