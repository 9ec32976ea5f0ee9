#include "controller/web/gate_metrics.hpp"

#include <optional>

namespace wattle::controller {

namespace {

// Adds forecast figures by how far ahead they look; adds none until a forecast was judged.
void add_forecast(Families& families, const Decider& decider) {
  using prometheus::MetricType;
  const placement::RequestForecast& forecast = decider.knowledge().forecast();
  const auto each = [&](const char* name, const char* help, auto&& value, MetricType type = MetricType::Gauge) {
    prometheus::MetricFamily& family = families.family(name, help, type);
    for (const auto* horizon : {&forecast.hour(), &forecast.window()}) {
      const std::string ahead = horizon == &forecast.hour() ? "hour" : "day";
      if (horizon->score().judged > 0) Families::add(family, {{"ahead", ahead}}, value(*horizon));
    }
  };
  using Horizon = placement::HorizonForecast;
  each(
      "wattle_controller_forecasts_judged_total", "Forecasts of the requested cores compared with the actual values.",
      [](const Horizon& one) { return static_cast<double>(one.score().judged); }, MetricType::Counter);
  each("wattle_controller_forecast_error_cores", "Mean absolute error of the forecasts.",
       [](const Horizon& one) { return one.score().error_cores; });
  each("wattle_controller_forecast_still_error_cores",
       "Mean absolute error of the forecast that the demand stays constant.",
       [](const Horizon& one) { return one.score().still_error_cores; });
  each("wattle_controller_forecast_within_ratio",
       "Share of actual values inside the forecast range; the target is 0.9.",
       [](const Horizon& one) { return one.score().within_ratio; });
  each("wattle_controller_forecast_trust_ratio", "Recent weight of the forecasts, from 0 (none) to 1 (full).",
       [](const Horizon& one) { return one.trust(); });
}

void add_network_states(Families& families, const Sources& from) {
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
  if (from.margins == nullptr || from.config.teacher == TeacherMode::off) return;
  add("teacher", from.margins->trial().state());
  add("student", from.margins->release().state());
}

std::optional<double> mean_of(const placement::RecentBlocks& recent) {
  return recent.blocks() > 0 ? std::optional(recent.mean()) : std::nullopt;
}
}  // namespace

void add_gates(Families& families, const Sources& from) {
  add_network_states(families, from);
  const Decider& decider = from.decider;
  const stats::NetworkTrial& gate = decider.network_gate();
  families.counter("wattle_controller_network_gate_blocks_total",
                   "Blocks in which the network and the planner were compared.", gate.blocks());
  families.gauge("wattle_controller_network_gate_difference_ratio",
                 "Predicted energy of the network's choices minus the planner's, mean of the newest 50 blocks.",
                 mean_of(decider.recent()));
  families.gauge("wattle_controller_network_gate_evidence",
                 "Log odds that the network is worse, or that it is better while the planner decides.",
                 gate.evidence());
  const stats::NetworkTrial& learned = decider.learned_network_gate();
  families.counter("wattle_controller_learned_gate_blocks_total",
                   "Blocks in which the learned and the initial network were compared.", learned.blocks());
  families.gauge(
      "wattle_controller_learned_gate_difference_ratio",
      "Predicted energy of the learned network's choices minus the initial network's, mean of the newest 50 blocks.",
      mean_of(decider.recent_learned()));
  const placement::PlanRecord& plan = decider.plan_record();
  families.gauge("wattle_controller_plan_trust_ratio",
                 "1 if the plan of expected pods decides, 0 if each pod's own cost decides.",
                 decider.knowledge().trust());
  families.gauge("wattle_controller_plan_difference_ratio",
                 "Recent predicted energy of the plan's choices minus that of choices by each pod's own cost.",
                 plan.blocks() > 0 ? std::optional(plan.mean()) : std::nullopt);
  add_forecast(families, decider);
  families.gauge("wattle_controller_network_gate_limit", "Log odds at which the network in use changes.", gate.limit());
}

}  // namespace wattle::controller
