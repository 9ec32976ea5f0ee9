// plan_state: the working copy of the cluster that a sleep plan changes step by step: which nodes take pods now or
// soon, the room on them, and the capacity that must stay.
// Awake    takes pods now, and no other program keeps it empty. Coming: will take pods soon, because it wakes, is in
//          probation, or loses its marks
// Needed   the requested cores and memory, and the spare of the awake nodes
// Units    in names
// Errors   none
// Threads  values; single owner
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "placement/sleep/sleep_plan.hpp"

namespace wattle::placement::sleep {

class PlanState {
 public:
  PlanState(const SleepInputs& in, const SleepConfig& config);

  const SleepInputs& in;
  const SleepConfig& config;
  Fleet fleet;  // with the pods that the plan has placed so far
  std::vector<char> awake, coming;
  LastOfKind kinds;  // of nodes awake or coming

  const SleepNode& node(std::size_t row) const { return in.nodes[row]; }
  bool available(std::size_t row) const { return awake[row] != 0 || coming[row] != 0; }
  double idle_w(std::size_t row) const { return fleet.nodes[row].idle_w(); }
  TransitionCost cost(std::size_t row) const { return cost_of(node(row).record, node(row).facts.depth, idle_w(row)); }
  // Watts of the node in its state now.
  double watts(std::size_t row) const;

  // Reserves and returns a node on which the pod fits, among the available ones. `from`: the node that the pod leaves;
  // it then moves only to nodes that are awake, that no other program empties, and that are no later in the order or of
  // the same kind. `not_awake`: only to nodes that are coming.
  std::optional<std::size_t> place(std::string_view pod, const PodEstimate& estimate,
                                   std::optional<std::size_t> from = std::nullopt, bool not_awake = false);
  bool takes(std::size_t row, std::string_view pod, const PodEstimate& estimate) const;
  void reserve(std::size_t row, const PodEstimate& estimate, int sign = 1);

  void becomes_coming(std::size_t row);
  void sleeps(std::size_t row);

  // Sums over the nodes awake or coming, without a row.
  Resources capacity(std::optional<std::size_t> without = std::nullopt) const;
  // `for_loss`: with the load of the fullest node, as far as sleepers that wake in time do not cover it.
  Resources spare(std::optional<std::size_t> without, bool for_loss) const;
  // Ready before the pods of a lost node are moved.
  bool wakes_in_time(std::size_t row) const;
  // Requested by all pods, running and waiting.
  Resources requested() const { return requested_; }

 private:
  Resources requested_, largest_pending_;
};

}  // namespace wattle::placement::sleep
