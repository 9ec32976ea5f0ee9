#include "sim/improve/fleet_chooser.hpp"

#include "placement/worth/shortlist.hpp"
#include "sim/improve/fleet_view.hpp"

namespace wattle::sim {

std::optional<std::size_t> FleetChooser::choose(const placement::Fleet& fleet, const placement::PodEstimate& ask) {
  if (network_ == nullptr) return planner_.choose(fleet, ask);
  const PlannedAsk asked = observe_planned(planner_, fleet, ask, view_);
  q_.assign(asked.observation.nodes, 0.0F);
  placement::Shortlisted(*network_, options_.shortlist).residual(asked.observation, q_);
  return placement::best_node(asked.observation, q_, asked.plan.pick, options_.margin);
}

}  // namespace wattle::sim
