#include "controller/decisions/decider.hpp"

namespace wattle::controller {

Decider::Decider(const ControllerConfig& config, ClusterState& state, const ServingModel& networks, DecisionSink& sink,
                 const Clock& clock, std::function<void(LearningNews)> learn, std::uint64_t first_decision_id,
                 placement::ClusterModel cluster_model)
    : DecisionCore(config, state, networks, clock, std::move(learn), first_decision_id, std::move(cluster_model)),
      clock_(clock),
      asks_(*this, state, sink, clock),
      outcomes_(*this, state, clock),
      placements_(*this, asks_, outcomes_, state, sink, clock) {}

void Decider::expire() {
  const MonoTime now = clock_.mono();
  placements_.expire(now);
  outcomes_.expire(now);
  refresh(now);
  asks_.expire(now);
  open().expire(now);
}

void Decider::recall(LoggedDecision entry) {
  recall_advice(entry.decision);
  asks_.recall(entry.decision);
  if (entry.decision.outcome && entry.judged_by == reward_id(spec().reward))
    figures().rewarded(entry.decision.outcome->reward);
  placements_.recall(entry);
  log().add(std::move(entry));
}

}  // namespace wattle::controller
