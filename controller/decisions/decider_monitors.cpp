// What the decider's monitors have seen, over a restart, and what follows from it: more exploration after a shift, none while the
// network is gated.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "controller/decisions/decider.hpp"

namespace wattle::controller {

namespace {
// What the network gate and the comparison are about.
// "-0.3%", "+1.2%"
std::string signed_percent(double ratio) {
  char text[32];
  std::snprintf(text, sizeof text, "%+.1f%%", 100 * ratio);
  return text;
}
std::string ranking_of(const RolloutSpec& spec) { return spec.policy + " " + reward_json(spec.reward).dump(); }
}  // namespace

void Decider::left(const std::string& pod_uid, MonoTime now) {
  const Pod* pod = state_.pod(pod_uid);
  if (pod != nullptr && left_) left_(pod->spec);
  const Node* node = pod != nullptr ? state_.node(pod->node) : nullptr;
  engine_.left(pod_uid, pod != nullptr ? &pod->spec : nullptr,
               node != nullptr ? std::optional(node->row) : std::nullopt, now);
}

std::vector<MonitorState> Decider::monitors() const {
  const std::string of = ranking_of(spec_);
  const auto& compared = comparison_.off_policy().samples();
  std::vector<MonitorState> rows{
      {std::string(kDriftRow), drift_text(drift_.state(clock_.mono()))},
      {std::string(kNetworkGateRow),
       network_gate_text({of, comparison_.network(), engine_.gate_why(), engine_.network_gate().state()})},
      {std::string(kLearnedGateRow),
       network_gate_text({of, comparison_.network(), {}, engine_.learned_network_gate().state()})},
      {std::string(kOffPolicyRow), off_policy_text({of, {compared.begin(), compared.end()}})},
      {std::string(kPlanRow), plan_text(engine_.plan_record().state())}};
  if (const placement::ModelledSaving* saving = engine_.saving())
    rows.push_back({std::string(kSavingRow), saving_text({of, saving->state()})});
  return rows;
}

Status Decider::restore(const MonitorState& state) {
  if (state.name == kDriftRow) {
    WATTLE_TRY(const auto kept, parse_drift(state.text));
    drift_.restore(kept, clock_.mono());
  } else if (state.name == kOffPolicyRow) {
    WATTLE_TRY(auto kept, parse_off_policy(state.text));
    if (kept.of == ranking_of(spec_)) comparison_.restore(std::move(kept.compared));
  } else if (state.name == kSavingRow) {
    WATTLE_TRY(const auto kept, parse_saving(state.text));
    if (kept.of == ranking_of(spec_)) engine_.restore_saving(kept.state);
  } else if (state.name == kNetworkGateRow) {
    WATTLE_TRY(const auto kept, parse_network_gate(state.text));
    if (kept.of != ranking_of(spec_) || !engine_.restore_gate(kept.state, kept.why)) return {};
    comparison_.gate_restored(kept.network);
    repeats_.clear();
  } else if (state.name == kLearnedGateRow) {
    WATTLE_TRY(const auto kept, parse_network_gate(state.text));
    if (kept.of == ranking_of(spec_)) engine_.restore_learned_gate(kept.state);
  } else if (state.name == kPlanRow) {
    WATTLE_TRY(const auto kept, parse_plan(state.text));
    engine_.restore_plan_record(kept);
  }
  return {};
}

void Decider::recall(LoggedDecision entry) {
  const wire::Decision& decision = entry.decision;
  const bool shadow = decision.mode == "shadow" || decision.mode == "observed";
  if (engine_.saving() != nullptr && shadow && decision.policy == spec_.policy && !decision.advice.empty())
    recalled_[decision.pod_uid] = decision.advice;
  log_.add(std::move(entry));
}

void Decider::follow_recalled(MonoTime now) {
  std::erase_if(recalled_, [&](const auto& each) {
    const auto& [uid, advice] = each;
    const Pod* pod = state_.pod(uid);
    const Node* advised = state_.node(advice);
    if (pod == nullptr || pod->node.empty() || advised == nullptr) return false;
    engine_.reserve_again(pod->spec, {advised->row, advice}, {state_.node(pod->node)->row, pod->node}, now);
    return true;
  });
}

void Decider::tell(MonitorEvent event) const {
  if (told_) told_(event);
}

Decider::Heard Decider::heard() const {
  ServingModel::Serving serving = networks_.serving();
  const bool learned = fits(serving.network, serving.version);
  if (fits(serving.trusted, serving.trusted_version) && (engine_.learned_gated() || !learned))
    return {std::move(serving.trusted), std::move(serving.trusted_version), false};
  if (!learned) return {};
  return {std::move(serving.network), std::move(serving.version), true};
}

std::string Decider::serves() const {
  const Heard heard = this->heard();
  if (heard.network == nullptr || !engine_.policy().learns) return {};
  const bool known = !heard.learned && !heard.version.loaded_from.empty();
  const std::string name = known ? "the network " + heard.version.loaded_from : "the network that is learned here";
  if (network_gated()) return "the plan serves, not " + name + ". " + network_gated_why();
  const std::string& why = engine_.heard_why();
  std::string text = name + " serves" + (why.empty() ? "" : ": " + why) + ".";
  if (engine_.network_gate_applies())
    text += " It is left out once its choices cost more joules than the plan's on copies of this cluster.";
  if (engine_.learned_gated() && !heard.learned)
    text += " What is learned here takes its place once it costs less than it there" +
            (engine_.learned_network_gate().blocks() == 0
                 ? std::string(", of which nothing is known yet.")
                 : "; of late it cost " + signed_percent(engine_.learned_network_gate().mean()) + ".");
  return text;
}

// What learning began with has been judged elsewhere: it is not made to err for the sake of learning.
double Decider::epsilon() const {
  const Heard heard = this->heard();
  const bool began_with = heard.network != nullptr && !heard.learned;
  return network_gated() || began_with ? 0 : drift_.epsilon(engine_.options().epsilon, clock_.mono());
}

void Decider::watch_curves(const placement::ClusterView& view) {
  std::uint64_t begun_anew = 0;
  for (const placement::NodeView& node : view.nodes) begun_anew += node.curve.shifts();
  const MonoTime now = clock_.mono();
  shifted(drift_.curves(begun_anew, view.nodes.size(), seconds(kRefreshEvery), now), now);
}

void Decider::shifted(const std::optional<std::string>& evidence, MonoTime now) {
  if (!evidence) return;
  learn_(DriftNews{now, now + DriftMonitor::kLasts});
  tell({Monitor::drift, Verdict::shifted, *evidence});
}

void Decider::judge(std::uint64_t id, const std::string& node, double reward) {
  comparison_.judged(id, node, reward);
  const LoggedDecision* entry = log_.find(id);
  if (entry == nullptr) return;
  std::optional<double> expected = entry->expected;
  const auto& candidates = entry->decision.candidates;
  for (std::size_t i = 0; !expected && i < std::min(candidates.size(), entry->predicted.size()); ++i)
    if (candidates[i].node == node && candidates[i].masked.empty()) expected = static_cast<double>(entry->predicted[i]);
  if (!expected) return;
  prediction_error_.add(node, reward - *expected);
  shifted(drift_.error(reward - *expected, clock_.mono()), clock_.mono());
}

}  // namespace wattle::controller
