// decider: answers asks, joins decisions to placements and placements to outcomes.
// Parts    asks.hpp, placements.hpp, outcomes.hpp; they share decision_core.hpp and the cluster's state
// Threads  single owner
#pragma once

#include <cstdint>
#include <functional>

#include "controller/decisions/asks.hpp"
#include "controller/decisions/decision_core.hpp"
#include "controller/decisions/outcomes.hpp"
#include "controller/decisions/placements.hpp"

namespace wattle::controller {

class Decider final : public DecisionCore {
 public:
  // The other arguments are those of DecisionCore.
  Decider(const ControllerConfig& config, ClusterState& state, const ServingModel& networks, DecisionSink& sink,
          const Clock& clock, std::function<void(LearningNews)> learn, std::uint64_t first_decision_id,
          placement::ClusterModel cluster_model = placement::ClusterModel());

  Asks& asks() { return asks_; }
  Placements& placements() { return placements_; }
  Outcomes& outcomes() { return outcomes_; }
  // Does what is due: settles outcomes, updates the cluster model, plans and comparisons, and drops expired state.
  void expire();
  // Adds a decision from before the restart. Call in the order of ids, before the first decision.
  void recall(LoggedDecision entry);
  // Adds a pod that ran before the restart.
  void recall(const PodFacts& pod) { placements_.recall(pod); }

 private:
  const Clock& clock_;
  Asks asks_;
  Outcomes outcomes_;
  Placements placements_;
};

}  // namespace wattle::controller
