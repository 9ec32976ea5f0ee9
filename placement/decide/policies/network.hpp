// network: the learned network as a policy.
// Method   the planner's view of the pod gives features and prior (placement/worth/features). The node of highest prior
//          + residual wins, but the plan's own choice stays unless another is better by at least `margin`. A network
//          that has learned nothing (residual 0) equals the planner at any margin, up to latencies that differ by
//          kSilentMargin
// Units    Q and margin in W0, the mean amortised watts per place of the nodes compared
// Errors   none
// Threads  single owner
#pragma once

#include <optional>
#include <span>

#include "placement/cluster/fleet.hpp"
#include "placement/decide/policies/policy.hpp"
#include "placement/plan/planner.hpp"

namespace wattle::placement {

// Ranks by the given q, which was computed with its plan; without q by the plan's choice.
class NetworkPolicy final : public Policy {
 public:
  NetworkPolicy(const PolicyInfo& info, const NetworkOptions& options) : Policy(info), options_(options) {}

  void prepare(const Fleet& fleet) override { planner_.prepare(fleet); }
  void plan_with(PlanMaker* maker) override { planner_.plan_with(maker); }
  std::optional<PlanView> plan_view(PolicyContext& context) override;
  void score(PolicyContext& context, std::span<double> values) override;

 private:
  NetworkOptions options_;
  Planner planner_{PlannerOptions{}};
};

}  // namespace wattle::placement
