// fleet_chooser: chooses nodes of a replayed cluster by the planner, or by a network on the planner's view.
// Method   the network's choice is the node of highest prior + residual; the plan's own choice stays unless another is
//          better by at least the margin, as in a controller (placement/decide/policies/network)
// Errors   none: no node fits -> no choice
// Threads  single owner; a copy continues from the same state and shares the network
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "models/frozen/q_network.hpp"
#include "placement/cluster/cluster_view.hpp"
#include "placement/cluster/fleet.hpp"
#include "placement/decide/policies/policy.hpp"
#include "placement/plan/planner.hpp"

namespace wattle::sim {

class FleetChooser {
 public:
  // `network` null: the planner's choice.
  explicit FleetChooser(std::shared_ptr<const models::QNetwork> network = nullptr,
                        const placement::NetworkOptions& options = {})
      : network_(std::move(network)), options_(options) {}
  std::optional<std::size_t> choose(const placement::Fleet& fleet, const placement::PodEstimate& ask);

 private:
  std::shared_ptr<const models::QNetwork> network_;
  placement::NetworkOptions options_;
  placement::Planner planner_{placement::PlannerOptions{}};
  placement::ClusterView view_;
  std::vector<float> q_;
};

}  // namespace wattle::sim
