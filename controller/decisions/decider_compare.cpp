// What the decider makes of decisions afterwards: would a reference have chosen better, how far was the reward from Q.
#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "controller/decisions/decider.hpp"

namespace wattle::controller {

namespace {
constexpr std::int64_t kPartOfTime = 500;  // asks wait while it compares: one part in so many

// What the network gate and the comparison are about.
std::string ranking_of(const RolloutSpec& spec) { return spec.policy + " " + reward_json(spec.reward).dump(); }
}  // namespace

// One decision a second at most, off the way of answers: what the ranking in force and its references would choose now.
void Decider::compare(MonoTime now) {
  const ToCompare what = std::move(*to_compare_);
  to_compare_.reset();
  const ServingModel::Serving serving = networks_.serving();
  placement::DecideOptions greedy = engine_.options();
  greedy.epsilon = 0;
  const placement::ClusterView& view = state_.view(what.spec, now);
  const auto choice = [&](const placement::PolicyInputs& mind) -> std::optional<placement::RankedChoice> {
    const placement::PlacementDecision advice =
        placement::decide(view, what.spec, what.candidates, mind, greedy, figures_.decisions, compare_random_);
    if (!advice.top) return std::nullopt;
    return placement::RankedChoice{advice.record.advice, advice.predictions[advice.row_of[*advice.top]].value()};
  };
  placement::ComparedDecision sample;
  sample.decision_id = what.id;
  auto own = choice(engine_.mind(fitting(serving.network)));
  if (!own) return;
  sample.own = std::move(*own);
  for (std::size_t i = 0; i < placement::kReferencePolicies.size(); ++i) {
    auto reference = choice({*reference_policies_[i], nullptr, &engine_.knowledge(), &engine_.index()});
    if (!reference) return;
    sample.references[i] = std::move(*reference);
  }
  off_policy_.add(std::move(sample));
  contend(what, view, serving);
  const MonoTime done = clock_.mono();
  compare_after_ = done + kPartOfTime * (done - now);
}

// Network and planner place the pod on a copy of the cluster each; who is behind by joules is told by the contest.
void Decider::contend(const ToCompare& what, const placement::ClusterView& view, const ServingModel::Serving& serving) {
  const models::QNetwork* network = fitting(serving.network);
  if (network == nullptr || !engine_.contested(what.spec)) return;
  const std::string& from = serving.version.loaded_from;
  // A number is the checkpoint of its own that the restart went on from; what is loaded has a name.
  const bool goes_on = std::exchange(contest_restored_, false) && !from.empty() && from[0] >= '0' && from[0] <= '9';
  if (!from.empty() && from != contest_from_ && !goes_on) engine_.begin_gate_anew("network " + from + " was loaded");
  contest_from_ = from;
  if (engine_.compare(view, what.spec, what.candidates, *network)) repeats_.clear();
}

void Decider::left(const std::string& pod_uid, MonoTime now) {
  const Pod* pod = state_.pod(pod_uid);
  const Node* node = pod != nullptr ? state_.node(pod->node) : nullptr;
  engine_.left(pod_uid, pod != nullptr ? &pod->spec : nullptr,
               node != nullptr ? std::optional(node->row) : std::nullopt, now);
}

std::vector<MonitorState> Decider::monitors() const {
  const std::string of = ranking_of(spec_);
  const auto& compared = off_policy_.samples();
  return {{std::string(kDriftRow), drift_text(drift_.state(clock_.mono()))},
          {std::string(kNetworkGateRow),
           network_gate_text({of, contest_from_, engine_.gated_why(), engine_.contest().state()})},
          {std::string(kOffPolicyRow), off_policy_text({of, {compared.begin(), compared.end()}})}};
}

Status Decider::restore(const MonitorState& state) {
  if (state.name == kDriftRow) {
    WATTLE_TRY(const auto kept, parse_drift(state.text));
    drift_.restore(kept, clock_.mono());
  } else if (state.name == kOffPolicyRow) {
    WATTLE_TRY(auto kept, parse_off_policy(state.text));
    if (kept.of == ranking_of(spec_)) off_policy_.restore(std::move(kept.compared));
  } else if (state.name == kNetworkGateRow) {
    WATTLE_TRY(const auto kept, parse_network_gate(state.text));
    if (kept.of != ranking_of(spec_) || !engine_.restore_gate(kept.state, kept.why)) return {};
    contest_from_ = kept.network;
    contest_restored_ = true;
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
  off_policy_.judged(id, node, reward);
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
