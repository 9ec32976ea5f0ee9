// planner: places for the pods that are expected, not only for the one that waits.
// Method   1. Servers are cut into blocks of pods that are worth filling at once (placement/allot). A plan is an order of
//             all blocks; its cost is the sum over positions k of P(at least k pods come) x the watts that the k-th pod
//             adds, waking included. Starts: the order of slopes, and allotments for several counts of pods, cheapest
//             block first; the best of them is improved by moving blocks. A certain count makes this the allotment for
//             that count, an open one the amortised rank.
//          2. All blocks that will very likely be filled are open at once; among them a pod of demand quantile q goes to
//             the server at that quantile of curve slope: heavy pods to flat curves.
//          Pods that stay are planned for from the present state; pods that come and go from the empty fleet, so that
//          holes are refilled in the order of the plan and the servers at its end run empty.
// State    only the plan: what was really placed is read from the fleet, so that another placement than the chosen one,
//          or a deletion, needs no telling
// Threads  single owner; the same fleets give the same choices
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "placement/allot.hpp"
#include "placement/fleet.hpp"
#include "placement/plan_view.hpp"

namespace wattle::placement {

struct PlannerOptions {
  // Open are blocks that are filled with at least this share of the present probability: the first value when the number
  // of pods is known well, the second when its range is as wide as its middle.
  double settled_ratio = 0.6, settled_ratio_open = 0.9;
  std::size_t matching_rounds = 3;      // demand of a server's pods and counts depend on each other
  std::size_t forecasts = 5;            // counts of pods that an allotment is made for
  std::size_t allot_cells = 2'000'000;  // work of one allotment
  std::size_t moves = 60'000;           // tried to improve the order, for each plan
  double replan_ratio = 0.03;           // of the expected pods placed since: plan anew
};

struct PlannedBlock {
  std::size_t node = 0, from = 0, to = 0;  // pods on the node, beyond those there when it was planned
};

// Part of the pods to come that use less than this one.
double demand_quantile(const Fleet& fleet, const Ask& ask);

class Planner final : public Rule {
 public:
  explicit Planner(PlannerOptions options) : options_(options) {}
  std::string_view name() const override { return "planner"; }
  std::optional<std::size_t> choose(const Fleet& fleet, const Ask& ask) override;
  // Plans anew where it must.
  void prepare(const Fleet& fleet) override;
  // The same choice, with what the plan says of every node.
  PlanView view(const Fleet& fleet, const Ask& ask);

  void replan(const Fleet& fleet);
  const std::vector<PlannedBlock>& order() const { return order_; }
  // Expected watts beyond those of now, summed over the pods to come (weighted by the probability that they come).
  double plan_cost() const;

 private:
  struct Open {
    std::vector<std::size_t> by_slope;  // nodes that are open, flattest first
    std::vector<double> places;         // of each node of the fleet
    double total = 0;                   // places
    double present = 1;                 // survival where the plan stands now
    std::vector<double> done;           // pods of the plan that are there, of each node
  };
  Open open_places(const Fleet& fleet, const Ask& ask) const;
  std::optional<std::size_t> pick(const Fleet& fleet, const Ask& ask, const Open& open) const;
  double survival(std::size_t position) const;
  double block_cost(const PlannedBlock& block, std::size_t position) const;
  void tabulate(const Fleet& fleet);
  void match(const Fleet& fleet);
  void improve();
  double order_cost(const std::vector<PlannedBlock>& order) const;
  std::vector<PlannedBlock> order_for(const std::vector<std::size_t>& counts) const;
  double pods_there(const Fleet& fleet, std::size_t node) const;

  PlannerOptions options_;
  std::vector<PlannedBlock> order_;
  CostTable cost_;
  std::vector<double> survival_;   // P(that position is filled), given that the first one is
  std::vector<double> demand_;     // mean cores of the pods planned for each node
  std::vector<double> slope_;      // watts per core where each node is planned to be
  std::vector<double> pods_then_;  // on each node when planned, in units of the mean request
  double total_then_ = 0;
  double settled_ = 1;  // the ratio in use
  double unit_cores_ = 1, unit_memory_ = 0;
  bool pods_stay_ = true;
  std::uint64_t revision_ = 0;
};

}  // namespace wattle::placement
