// cost: policies that choose by the cost of a node: the planner, which also considers the expected pods, and rules
// without a plan.
// Units    watts
// Errors   none
// Threads  single owner
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "placement/decide/policies/policy.hpp"
#include "placement/plan/planner.hpp"
#include "placement/worth/objective.hpp"

namespace wattle::placement {

// Chooses the node of least cost, and among equal ones the first. The values are the negated costs, with the choice
// above all others unless all costs are equal.
class CostPolicy : public Policy {
 public:
  using Policy::Policy;
  void score(PolicyContext& context, std::span<double> values) override;

 protected:
  // Returns the index of the node of least cost; no value if none is feasible.
  virtual std::optional<std::size_t> best(PolicyContext& context);
  // The cost of a feasible row, computed once per decision.
  double known_cost(std::size_t row) const { return costs_[row]; }
  // Returns whether the choice among nodes of equal cost is deliberate.
  virtual bool plans() const { return false; }
  // Cost of the row's node, where the pod fits. Default: amortised cost.
  virtual double cost(PolicyContext& context, std::size_t row) {
    return amortised_cost_w(context.fleet(), context.node(row), context.ask());
  }

 private:
  std::vector<double> costs_;  // by row; set for feasible rows
};

class PlannerPolicy final : public CostPolicy {
 public:
  explicit PlannerPolicy(const PolicyInfo& info) : CostPolicy(info), planner_(PlannerOptions{}) {}
  void prepare(const Fleet& fleet) override { planner_.prepare(fleet); }
  void plan_with(PlanMaker* maker) override { planner_.plan_with(maker); }

 private:
  std::optional<std::size_t> best(PolicyContext& context) override;
  bool plans() const override { return true; }
  double cost(PolicyContext& context, std::size_t row) override {
    return CostPolicy::cost(context, row) +
           context.late(row) * amortised_w(context.fleet().nodes[context.node(row)], context.ask());
  }
  Planner planner_;
};

}  // namespace wattle::placement
