#include "controller/web/gate_metrics.hpp"

#include <cmath>
#include <optional>
#include <string>

#include "controller/decisions/decider.hpp"
#include "controller/provision/margin_teacher.hpp"

namespace wattle::controller {
namespace {

void add_network_states(Families& families, const Parts& from) {
  prometheus::MetricFamily& family = families.family(
      "wattle_controller_network_state", "1 for the state of the network, else 0.", prometheus::MetricType::Gauge);
  const auto add = [&](const char* network, std::optional<stats::NetworkState> state) {
    using enum stats::NetworkState;
    for (const stats::NetworkState each : {candidate, on_trial, in_use, withdrawn})
      if (state)
        Families::add(family, {{"network", network}, {"state", std::string(stats::to_string(each))}},
                      *state == each ? 1.0 : 0.0);
  };
  const Decider::NetworkStates states = from.decider.network_states();
  add("baseline", states.baseline);
  add("learned", states.learned);
  if (from.config.teacher == TeacherMode::off) return;
  add("teacher", from.margins.trial().state());
  add("student", from.margins.release().state());
}

// Only candidates with evidence have values.
void add_candidates(Families& families, const placement::CandidateTrials& trials) {
  prometheus::MetricFamily& family = families.family("wattle_controller_candidate_difference_ratio",
                                                     "Measured energy per unit of work over the floor's: mean, and "
                                                     "bounds of the 95% interval that is valid at any time.",
                                                     prometheus::MetricType::Gauge);
  for (const placement::Candidate each : placement::kCandidates) {
    const auto add = [&](const char* bound, double log_ratio) {
      Families::add(family, {{"candidate", std::string(trials.name(each))}, {"bound", bound}}, std::expm1(log_ratio));
    };
    if (const auto mean = trials.difference(each)) add("mean", *mean);
    const auto interval = trials.interval(each);
    if (!interval) continue;
    add("low", interval->low);
    add("high", interval->high);
  }
}

}  // namespace

void add_gates(Families& families, const Parts& from) {
  add_network_states(families, from);
  if (from.decider.trials().active()) add_candidates(families, from.decider.trials());
  const Decider& decider = from.decider;
  const stats::NetworkTrial& gate = decider.network_gate();
  families.gauge("wattle_controller_network_gate_difference_ratio",
                 "Predicted energy of the network's choices minus the planner's, mean of the newest 50 blocks.",
                 decider.recent().blocks() > 0 ? std::optional(decider.recent().mean()) : std::nullopt);
  families.gauge("wattle_controller_network_gate_evidence",
                 "Log odds that the network is worse, or that it is better while the planner decides.",
                 gate.evidence());
  families.gauge("wattle_controller_network_gate_limit", "Log odds at which the network in use changes.", gate.limit());
}

}  // namespace wattle::controller
