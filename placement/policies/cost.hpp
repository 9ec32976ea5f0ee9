// cost: policies that choose by what a node costs, the planner among them, which looks at the pods to come as well.
// Units    watts
// Errors   none
// Threads  single owner
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>

#include "placement/objective.hpp"
#include "placement/planner.hpp"
#include "placement/policies/policy.hpp"

namespace wattle::placement {

// Chooses the node of least cost; its values are the costs turned round, what it chooses above all others, but where all cost
// the same.
class CostPolicy : public Policy {
 public:
  using Policy::Policy;
  void score(PolicyContext& context, std::span<double> values) override;
  std::optional<std::size_t> choose(PolicyContext& context) override;

 private:
  // Whether it chooses among nodes of equal cost for a reason of its own.
  virtual bool plans() const { return false; }
  // Of a node that fits. Amortised cost where a policy has no cost of a node alone.
  virtual double cost(const Fleet& fleet, std::size_t node, const PodEstimate& ask) {
    return amortised_cost_w(fleet, node, ask);
  }
};

class PlannerPolicy final : public CostPolicy {
 public:
  explicit PlannerPolicy(const PolicyInfo& info) : CostPolicy(info), planner_(PlannerOptions{}) {}
  void prepare(const Fleet& fleet) override { planner_.prepare(fleet); }
  void plan_with(PlanMaker* maker) override { planner_.plan_with(maker); }
  std::optional<std::size_t> choose(PolicyContext& context) override;

 private:
  bool plans() const override { return true; }
  Planner planner_;
};

// PEAKS: P(u) = base + k1 e^(k2 u), fitted to the eleven points of a curve by least squares.
struct Exponential {
  double base_w = 0, k1_w = 0, k2 = 0;
  double watts_at(double utilisation) const;
};
Exponential fit_exponential(const std::array<double, kCurvePoints>& watts);

}  // namespace wattle::placement
