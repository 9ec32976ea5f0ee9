// planner: places for the pods that are expected, not only for the one that waits.
// Method   1. A plan is made (placement/plan).
//          2. All blocks that will very likely be filled are open at once; among them a pod of demand quantile q goes to
//             the server at that quantile of curve slope: heavy pods to flat curves.
//          3. Where waiting has a price, what the pod would add to it there is weighed against what the plan would rather have.
//             As far as expectations have earned no trust, the amortised cost decides in place of the plan.
//          Pods that stay are planned for from the present state; pods that come and go from the empty fleet, so that
//          holes are refilled in the order of the plan and the servers at its end run empty.
// Plans    without a PlanMaker they are made when they are needed, by whoever asks: the same fleets, one after the other, give the same choices.
//          With one (the live controller) nobody waits: the plan that there is goes on, and where none is for as many
//          nodes, the least amortised watts decide
// State    only the plan: what was really placed is read from the fleet, so that another placement than the chosen one,
//          or a deletion, needs no telling. A copy shares the plan
// Threads  single owner
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "placement/fleet.hpp"
#include "placement/plan.hpp"
#include "placement/plan_view.hpp"

namespace wattle::placement {

// Part of the pods to come that use less than this one.
double demand_quantile(const Fleet& fleet, const PodEstimate& ask);

class Planner {
 public:
  explicit Planner(PlannerOptions options) : options_(options) {}
  std::optional<std::size_t> choose(const Fleet& fleet, const PodEstimate& ask);
  // Plans anew where it must, or wants it of the maker.
  void prepare(const Fleet& fleet);
  void plan_with(PlanMaker* maker) { maker_ = maker; }
  // The same choice, with what the plan says of each of these nodes, every one by default; without a plan no nodes.
  PlanView view(const Fleet& fleet, const PodEstimate& ask,
                std::optional<std::span<const std::size_t>> rows = std::nullopt);

  void replan(const Fleet& fleet) { plan_ = std::make_shared<const Plan>(options_, fleet, plan_.get()); }
  const std::shared_ptr<const Plan>& plan() const { return plan_; }
  // Of the plan; a planner without one has neither.
  const std::vector<PlannedBlock>& order() const { return plan_->order(); }
  double plan_cost() const { return plan_->cost(); }

 private:
  // Of one plan; each value has one entry per node of the fleet.
  struct Progress {
    std::shared_ptr<const Plan> plan;
    std::uint64_t edition = 0;     // of the fleet
    std::vector<double> done;      // pods of the plan that are there
    std::vector<double> expected;  // pods that are still likely to come
    double present = 1;            // survival where the plan stands now
  };
  struct Open {
    std::vector<std::size_t> by_slope;  // nodes that are open, flattest first
    std::vector<double> places;         // of each of them
    double total = 0;
  };
  bool stale(const Fleet& fleet) const;
  // A plan that this fleet's rows can be read with.
  bool ready(const Fleet& fleet);
  void follow(const Fleet& fleet);
  double still_expected(std::size_t node) const;
  std::vector<Plan::Placed> blocks_in_order(const Fleet& fleet) const;
  Open open_places(const Fleet& fleet, const PodEstimate& ask) const;
  std::optional<std::size_t> pick(const Fleet& fleet, const PodEstimate& ask, const Open& open) const;
  static void mind_costs(const Fleet& fleet, const PodEstimate& ask, std::span<const std::size_t> nodes,
                         PlanView& view);
  PlanView::Node view_node(const Fleet& fleet, std::size_t node) const;

  PlannerOptions options_;
  std::shared_ptr<const Plan> plan_;
  Progress progress_;
  std::vector<std::size_t> moved_;  // nodes, of the last follow()
  PlanMaker* maker_ = nullptr;
};

}  // namespace wattle::placement
