// What the decider's monitors have seen, over a restart, and what follows from it: more exploration after a shift, none while the
// network is gated.
#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "controller/decisions/decider.hpp"

namespace wattle::controller {

namespace {
// What the network gate and the comparison are about.
std::string ranking_of(const RolloutSpec& spec) { return spec.policy + " " + reward_json(spec.reward).dump(); }
}  // namespace

void Decider::left(const std::string& pod_uid, MonoTime now) {
  const Pod* pod = state_.pod(pod_uid);
  const Node* node = pod != nullptr ? state_.node(pod->node) : nullptr;
  engine_.left(pod_uid, pod != nullptr ? &pod->spec : nullptr,
               node != nullptr ? std::optional(node->row) : std::nullopt, now);
}

std::vector<MonitorState> Decider::monitors() const {
  const std::string of = ranking_of(spec_);
  const auto& compared = comparison_.off_policy().samples();
  return {{std::string(kDriftRow), drift_text(drift_.state(clock_.mono()))},
          {std::string(kNetworkGateRow),
           network_gate_text({of, comparison_.network(), engine_.gated_why(), engine_.contest().state()})},
          {std::string(kOffPolicyRow), off_policy_text({of, {compared.begin(), compared.end()}})}};
}

Status Decider::restore(const MonitorState& state) {
  if (state.name == kDriftRow) {
    WATTLE_TRY(const auto kept, parse_drift(state.text));
    drift_.restore(kept, clock_.mono());
  } else if (state.name == kOffPolicyRow) {
    WATTLE_TRY(auto kept, parse_off_policy(state.text));
    if (kept.of == ranking_of(spec_)) comparison_.restore(std::move(kept.compared));
  } else if (state.name == kNetworkGateRow) {
    WATTLE_TRY(const auto kept, parse_network_gate(state.text));
    if (kept.of != ranking_of(spec_) || !engine_.restore_gate(kept.state, kept.why)) return {};
    comparison_.gate_restored(kept.network);
    repeats_.clear();
  }
  return {};
}

void Decider::tell(MonitorEvent event) const {
  if (told_) told_(event);
}

double Decider::epsilon() const {
  return network_gated() ? 0 : drift_.epsilon(engine_.options().epsilon, clock_.mono());
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
  for (const wire::Candidate& candidate : entry->decision.candidates)
    if (candidate.node == node && candidate.masked.empty()) {
      q_error_.add(node, reward - candidate.q);
      shifted(drift_.error(reward - candidate.q, clock_.mono()), clock_.mono());
      return;
    }
}

}  // namespace wattle::controller
