// planner: chooses nodes for all expected pods, not only for the waiting one.
// Method   1. Makes a plan (placement/plan/plan).
//          2. All blocks that will very likely be filled are open at the same time. Among them a pod of demand quantile
//          q is assigned to the server at that quantile of curve slope: heavy pods to flat curves.
//          3. Where waiting has a price, the waiting that the pod would add is weighed against the plan's preference.
//          So are pairs of applications that slow each other (placement/plan/pair_cost). The less trust the
//          expectations have earned, the more the pod's own cost decides in place of the plan: its places' watts in a
//          fixed order of nodes (packing_w) where pods come and go and nodes sleep, otherwise its amortised watts.
//          Plans for pods that stay start from the current state. Plans for pods that come and go start from the empty
//          fleet, so that freed room is refilled in the order of the plan and the servers at its end become empty.
// Plans    without a PlanMaker, a decision makes a plan when it needs one: the same sequence of fleets gives the same
//          choices. With one (the live controller), decisions never wait: they use the newest plan, or the least
//          amortised watts if no plan has the same number of nodes
// State    only the plan. Actual placements are read from the fleet, so that deviating placements and deletions need no
//          report. A copy shares the plan
// Threads  single owner
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "placement/cluster/fleet.hpp"
#include "placement/plan/plan.hpp"
#include "placement/worth/plan_view.hpp"

namespace wattle::placement {

// Share of the expected pods that use less than this one.
double demand_quantile(const Fleet& fleet, const PodEstimate& ask);

class Planner {
 public:
  explicit Planner(PlannerOptions options) : options_(options) {}
  std::optional<std::size_t> choose(const Fleet& fleet, const PodEstimate& ask);
  // Makes a new plan if one is needed, or requests it from the maker.
  void prepare(const Fleet& fleet);
  void plan_with(PlanMaker* maker) { maker_ = maker; }
  // Makes the same choice and returns the plan's view of each of these nodes, by default of all. Returns no nodes
  // without a plan.
  PlanView view(const Fleet& fleet, const PodEstimate& ask,
                std::optional<std::span<const std::size_t>> rows = std::nullopt);

  void replan(const Fleet& fleet) { plan_ = std::make_shared<const Plan>(options_, fleet, plan_.get()); }
  const std::shared_ptr<const Plan>& plan() const { return plan_; }
  // Order of the current plan. Requires a plan.
  const std::vector<PlannedBlock>& order() const { return plan_->order(); }

 private:
  // Progress of one plan; each vector has one entry per node of the fleet.
  struct Progress {
    std::shared_ptr<const Plan> plan;
    std::uint64_t edition = 0;     // of the fleet
    std::vector<double> done;      // pods of the plan that are there
    std::vector<double> expected;  // pods that are still likely to arrive
    std::vector<double> closed;    // preference of each node while it is closed
    double expected_pods = 0;      // sum of `expected`
    double present = 1;            // survival at the plan's current position
  };
  struct Open {
    std::vector<std::size_t> by_slope;  // open nodes, flattest first
    std::vector<double> places;         // one per open node
    double total = 0;
  };
  bool stale(const Fleet& fleet) const;
  // Returns whether there is a plan with this fleet's rows.
  bool ready(const Fleet& fleet);
  void follow(const Fleet& fleet);
  double still_expected(std::size_t node) const;
  double closed_preference(std::size_t node) const;
  std::vector<Plan::Placed> blocks_in_order(const Fleet& fleet) const;
  Open open_places(const Fleet& fleet, const PodEstimate& ask) const;
  std::optional<std::size_t> pick(const Fleet& fleet, const PodEstimate& ask, const Open& open) const;
  // Requires a plan.
  double own_w(const Fleet& fleet, std::size_t node, const PodEstimate& ask) const;
  void add_own_costs(const Fleet& fleet, const PodEstimate& ask, std::span<const std::size_t> nodes,
                     PlanView& view) const;
  PlanView::Node view_node(const Fleet& fleet, std::size_t node) const;

  PlannerOptions options_;
  std::shared_ptr<const Plan> plan_;
  Progress progress_;
  std::vector<std::size_t> moved_;  // nodes changed by the last follow()
  PlanMaker* maker_ = nullptr;
};

}  // namespace wattle::placement
