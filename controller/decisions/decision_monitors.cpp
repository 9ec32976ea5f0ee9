#include "controller/decisions/decision_monitors.hpp"

#include <algorithm>

namespace wattle::controller {

DecisionMonitors::DecisionMonitors(placement::DecisionEngine& engine, const Clock& clock,
                                   const std::function<void(LearningNews)>& learn)
    : engine_(engine), clock_(clock), learn_(learn), comparison_(clock) {
  engine_.gates().on_verdict([this](const placement::GateNews& news) {
    tell({news.of_learned ? Monitor::learned_gate : Monitor::network_gate,
          news.gated ? Verdict::behind : Verdict::ahead, news.why});
  });
}

void DecisionMonitors::reward_changes() {
  prediction_error_.clear();
  drift_.forget_errors();
}

void DecisionMonitors::changed(bool of_another_ranking) {
  drift_.end();  // whatever changed, a rollback above all, is not explored against
  comparison_.ranking_changed(of_another_ranking);
}

void DecisionMonitors::judged(std::uint64_t id, const std::string& node, double reward,
                              const std::optional<double>& expected) {
  comparison_.judged(id, node, reward);
  if (!expected) return;
  prediction_error_.add(node, reward - *expected);
  shifted(drift_.error(reward - *expected, clock_.mono()), clock_.mono());
}

void DecisionMonitors::watch_curves(const placement::ClusterView& view, Duration passed) {
  std::uint64_t begun_anew = 0;
  for (const placement::NodeView& node : view.nodes) begun_anew += node.curve.shifts();
  const MonoTime now = clock_.mono();
  shifted(drift_.curves(begun_anew, view.nodes.size(), seconds(passed), now), now);
}

bool DecisionMonitors::compare(const placement::Fleet& fleet, const ServingModel::Serving& serving,
                               const models::QNetwork* network) {
  comparison_.prepare(fleet);
  const bool was_gated = engine_.gated();
  if (network != nullptr) comparison_.look_at(engine_, serving);
  return engine_.gated() != was_gated;
}

bool DecisionMonitors::compare_rankings(ClusterState& state, const ServingModel::Serving& serving,
                                        const models::QNetwork* network, std::uint64_t turn) {
  const bool verdict_changed = comparison_.run(engine_, state, serving, network, turn);
  // Too few decisions say nothing; that it is so again after a change is news, too.
  const auto estimates = comparison_.off_policy().estimates();
  if (estimates.front().told() || compared_told_) learn_(ComparedNews{estimates});
  compared_told_ = estimates.front().told();
  return verdict_changed;
}

NetworkGateState::Recent DecisionMonitors::kept(const placement::RecentBlocks& recent, bool of_learned) const {
  if (!recent.at()) return {};
  const std::int64_t at_ns = to_ns(clock_.wall() - (clock_.mono() - *recent.at()));
  return {recent.blocks(), recent.mean(), static_cast<std::uint64_t>(std::max<std::int64_t>(at_ns, 0)), of_learned};
}

placement::RecentBlocks DecisionMonitors::recalled(const NetworkGateState::Recent& kept) const {
  placement::RecentBlocks recent;
  const Duration ago =
      std::max(clock_.wall() - wall_from_ns(static_cast<std::int64_t>(kept.wall_ns)), Duration::zero());
  recent.restore(kept.mean, kept.blocks, clock_.mono() - ago);
  return recent;
}

std::vector<MonitorState> DecisionMonitors::rows(const std::string& of) const {
  const auto& compared = comparison_.off_policy().samples();
  std::vector<MonitorState> rows{
      {std::string(kDriftRow), drift_text(drift_.state(clock_.mono()))},
      {std::string(kNetworkGateRow),
       network_gate_text({of, comparison_.network(), engine_.gates().why(), engine_.gates().network_test().state(),
                          kept(engine_.gates().recent(), engine_.gates().recent_is_of_learned())})},
      {std::string(kLearnedGateRow), network_gate_text({of,
                                                        comparison_.network(),
                                                        {},
                                                        engine_.gates().learned_test().state(),
                                                        kept(engine_.gates().recent_learned(), true)})},
      {std::string(kOffPolicyRow), off_policy_text({of, {compared.begin(), compared.end()}})},
      {std::string(kPlanRow), plan_text(engine_.gates().plan_record().state())}};
  if (const placement::ModelledSaving* saving = engine_.shadow().saving())
    rows.push_back({std::string(kSavingRow), saving_text({of, saving->state()})});
  return rows;
}

Result<bool> DecisionMonitors::restore(const MonitorState& row, const std::string& of) {
  if (row.name == kDriftRow) {
    WATTLE_TRY(const auto kept, parse_drift(row.text));
    drift_.restore(kept, clock_.mono());
  } else if (row.name == kOffPolicyRow) {
    WATTLE_TRY(auto kept, parse_off_policy(row.text));
    if (kept.of == of) comparison_.restore(std::move(kept.compared));
  } else if (row.name == kSavingRow) {
    WATTLE_TRY(const auto kept, parse_saving(row.text));
    if (kept.of == of) engine_.shadow().restore_saving(kept.state);
  } else if (row.name == kNetworkGateRow) {
    WATTLE_TRY(const auto kept, parse_network_gate(row.text));
    if (kept.of != of || !engine_.gates().restore(kept.state, kept.why)) return false;
    engine_.gates().restore_recent(recalled(kept.recent), kept.recent.of_learned);
    comparison_.gate_restored(kept.network);
    return true;
  } else if (row.name == kLearnedGateRow) {
    WATTLE_TRY(const auto kept, parse_network_gate(row.text));
    if (kept.of == of && engine_.gates().restore_learned(kept.state))
      engine_.gates().restore_recent_learned(recalled(kept.recent));
  } else if (row.name == kPlanRow) {
    WATTLE_TRY(const auto kept, parse_plan(row.text));
    engine_.gates().restore_plan_record(kept, engine_.cluster_model());
  }
  return false;
}

void DecisionMonitors::tell(MonitorEvent event) const {
  if (told_) told_(event);
}

void DecisionMonitors::shifted(const std::optional<std::string>& evidence, MonoTime now) {
  if (!evidence) return;
  learn_(DriftNews{now, now + DriftMonitor::kLasts});
  tell({Monitor::drift, Verdict::shifted, *evidence});
}

}  // namespace wattle::controller
