#include "controller/web/gate_metrics.hpp"

#include <optional>

namespace wattle::controller {

void add_gates(Families& families, const Decider& decider) {
  const placement::SequentialTest& gate = decider.network_gate();
  families.gauge("wattle_controller_network_gated",
                 "1 if the planner decides because the network is worse or not shown to be better.",
                 decider.network_gated() ? 1.0 : 0.0);
  families.gauge("wattle_controller_network_gate_difference_ratio",
                 "Predicted energy of the network's choices minus the planner's, mean of the newest 50 blocks.",
                 decider.recent().blocks() > 0 ? std::optional(decider.recent().mean()) : std::nullopt);
  families.gauge("wattle_controller_network_gate_evidence",
                 "Log odds that the network is worse, or that it is better while the planner decides.",
                 gate.evidence());
  const placement::PlanRecord& plan = decider.plan_record();
  families.gauge("wattle_controller_plan_trust_ratio",
                 "1 if the plan of expected pods decides, 0 if each pod's own cost decides.",
                 decider.knowledge().trust());
  families.gauge("wattle_controller_plan_difference_ratio",
                 "Recent predicted energy of the plan's choices minus that of choices by each pod's own cost.",
                 plan.blocks() > 0 ? std::optional(plan.mean()) : std::nullopt);
  families.gauge("wattle_controller_network_gate_limit", "Log odds at which the network in use changes.", gate.limit());
}

}  // namespace wattle::controller
