#include "controller/web/gate_metrics.hpp"

#include <optional>

namespace wattle::controller {

namespace {

void add_compared(Families& families, const Decider& decider) {
  using prometheus::MetricType;
  // Each is finished before the next begins: a family moves when another is added.
  const auto each = [&](const char* name, const char* help, auto&& value) {
    prometheus::MetricFamily& family = families.family(name, help, MetricType::Gauge);
    for (const placement::OffPolicyEstimate& one : decider.off_policy().estimates())
      if (const std::optional<double> told = value(one))
        Families::add(family, {{"reference", std::string(one.reference)}}, *told);
  };
  using Estimate = placement::OffPolicyEstimate;
  const auto once_told = [](double (*figure)(const Estimate&)) {
    return [figure](const Estimate& one) { return one.told() ? std::optional(figure(one)) : std::nullopt; };
  };
  each("wattle_controller_compared_decisions", "Recent decisions that the reference was asked about, too.",
       [](const Estimate& one) { return std::optional(static_cast<double>(one.samples)); });
  each("wattle_controller_compared_differ_ratio", "Share of them that the reference would have placed elsewhere.",
       once_told([](const Estimate& one) { return one.differ_ratio(); }));
  each("wattle_controller_regret_reward",
       "Reward a decision that the reference would have brought more; below 0: less.",
       once_told([](const Estimate& one) { return one.regret(); }));
  each("wattle_controller_regret_low_reward", "Lower end of its 95% interval.",
       once_told([](const Estimate& one) { return one.regret() - one.half_width(); }));
  each("wattle_controller_regret_high_reward", "Upper end of its 95% interval.",
       once_told([](const Estimate& one) { return one.regret() + one.half_width(); }));
  const auto worth_told = [](double (*figure)(const Estimate::Worth&)) {
    return [figure](const Estimate& one) {
      const std::optional<Estimate::Worth> worth = one.differing_worth();
      return worth ? std::optional(figure(*worth)) : std::nullopt;
    };
  };
  each("wattle_controller_differing_worth_reward",
       "Reward that a decision brought beyond the reference's where the two differ; below 0: less.",
       worth_told([](const Estimate::Worth& worth) { return worth.mean; }));
  each("wattle_controller_differing_worth_low_reward", "Lower end of its 95% interval.",
       worth_told([](const Estimate::Worth& worth) { return worth.low(); }));
  each("wattle_controller_differing_worth_high_reward", "Upper end of its 95% interval.",
       worth_told([](const Estimate::Worth& worth) { return worth.high(); }));
}

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
      "wattle_controller_forecasts_judged_total", "Forecasts of the requested cores compared with what came.",
      [](const Horizon& one) { return static_cast<double>(one.score().judged); }, MetricType::Counter);
  each("wattle_controller_forecast_error_cores", "Mean of how far off they were.",
       [](const Horizon& one) { return one.score().error_cores; });
  each("wattle_controller_forecast_still_error_cores", "The same, had all been expected to stay as it was.",
       [](const Horizon& one) { return one.score().still_error_cores; });
  each("wattle_controller_forecast_within_ratio", "Share of what came that was in the range; 0.9 is wanted.",
       [](const Horizon& one) { return one.score().within_ratio; });
  each("wattle_controller_forecast_trust_ratio", "What the forecasts have earned of late: 0 none, 1 all.",
       [](const Horizon& one) { return one.trust(); });
}

}  // namespace

namespace {
std::optional<double> mean_of(const placement::RecentBlocks& recent) {
  return recent.blocks() > 0 ? std::optional(recent.mean()) : std::nullopt;
}
}  // namespace

void add_gates(Families& families, const Decider& decider) {
  const placement::SequentialTest& gate = decider.network_gate();
  families.gauge("wattle_controller_network_gated",
                 "1: the planner's choices serve: the network is behind it, or not shown to be ahead.",
                 decider.network_gated() ? 1.0 : 0.0);
  families.counter("wattle_controller_network_gate_blocks_total", "Blocks in which network and planner were compared.",
                   gate.blocks());
  families.gauge("wattle_controller_network_gate_difference_ratio",
                 "Predicted joules of the network's choices beyond the planner's: mean of the newest 50 blocks.",
                 mean_of(decider.recent()));
  families.gauge("wattle_controller_network_gate_evidence",
                 "Log of the odds that the network is behind; while it is gated: that it is ahead.", gate.evidence());
  const placement::SequentialTest& learned = decider.learned_network_gate();
  families.gauge(
      "wattle_controller_learned_gated",
      "1: the network that learning began with serves: what was learned since is not shown to be ahead of it.",
      decider.heard().network != nullptr && !decider.heard().learned ? 1.0 : 0.0);
  families.counter("wattle_controller_learned_gate_blocks_total", "Blocks in which the two were compared.",
                   learned.blocks());
  families.gauge("wattle_controller_learned_gate_difference_ratio",
                 "Predicted joules of what was learned beyond what learning began with: mean of the newest 50 blocks.",
                 mean_of(decider.recent_learned()));
  const placement::PlanRecord& plan = decider.plan_record();
  families.gauge("wattle_controller_plan_trust_ratio",
                 "1: the plan of pods to come decides; 0: each pod's own cost, as plan or forecast have not earned it.",
                 decider.knowledge().trust());
  families.gauge("wattle_controller_plan_difference_ratio",
                 "Predicted joules of the plan's choices beyond those by each pod's own cost, of late.",
                 plan.blocks() > 0 ? std::optional(plan.mean()) : std::nullopt);
  families.counter("wattle_controller_drifts_total", "Shifts of curves or of errors that were noticed.",
                   decider.drifts());
  add_forecast(families, decider);
  add_compared(families, decider);
  families.gauge("wattle_controller_drift_active", "1: more is explored after a shift.",
                 decider.drifting() ? 1.0 : 0.0);
  families.gauge("wattle_controller_network_gate_limit", "Where the evidence changes who serves.", gate.limit());
}

}  // namespace wattle::controller
