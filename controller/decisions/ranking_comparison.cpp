#include "controller/decisions/ranking_comparison.hpp"

#include <cassert>

#include "controller/trainer/model_orders.hpp"
#include "placement/decide/policies/registry.hpp"

namespace wattle::controller {

RankingComparison::RankingComparison(const Clock& clock) : clock_(clock) {
  for (std::size_t i = 0; i < references_.size(); ++i) {
    auto policy = placement::make_policy(placement::kReferencePolicies[i]);
    assert(policy);
    references_[i] = std::move(*policy);
  }
}

void RankingComparison::plan_with(placement::PlanMaker& maker) {
  for (const auto& reference : references_) reference->plan_with(&maker);
}

void RankingComparison::prepare(const placement::Fleet& fleet) {
  for (const auto& reference : references_) reference->prepare(fleet);
}

void RankingComparison::offer(std::uint64_t id, const placement::PodSpec& spec,
                              const std::vector<std::string>& candidates) {
  if (!waiting_) waiting_ = Made{id, spec, candidates};
}

void RankingComparison::ranking_changed(bool anew) {
  waiting_.reset();
  if (!anew) return;
  off_policy_.begin_anew();
  network_.reset();
  gate_restored_ = false;
}

void RankingComparison::gate_restored(std::string network) {
  network_ = network.empty() ? std::nullopt : std::optional(std::move(network));
  gate_restored_ = true;
}

bool RankingComparison::run(placement::DecisionEngine& engine, ClusterState& state,
                            const ServingModel::Serving& serving, const models::QNetwork* network, std::uint64_t turn) {
  const MonoTime begun = clock_.mono();
  const Made made = std::move(*waiting_);
  waiting_.reset();
  placement::DecideOptions greedy = engine.options();
  greedy.epsilon = 0;
  const placement::ClusterView& view = state.view(made.spec, begun);
  const auto choice = [&](const placement::PolicyInputs& inputs) -> std::optional<placement::RankedChoice> {
    const placement::PlacementDecision advice =
        placement::decide(view, made.spec, made.candidates, inputs, greedy, turn, random_);
    if (!advice.top) return std::nullopt;
    return placement::RankedChoice{advice.record.advice, advice.predictions[advice.row_of[*advice.top]].value()};
  };
  placement::ComparedDecision sample;
  sample.decision_id = made.id;
  auto own = choice(engine.inputs(network));
  if (!own) return false;
  sample.own = std::move(*own);
  for (std::size_t i = 0; i < references_.size(); ++i) {
    auto reference = choice({*references_[i], nullptr, &engine.cluster_model(), &engine.index()});
    if (!reference) return false;
    sample.references[i] = std::move(*reference);
  }
  off_policy_.add(std::move(sample));
  engine.compare_plan(view, made.spec, made.candidates);
  const bool changed = contend(engine, made, view, serving, network);
  const MonoTime done = clock_.mono();
  after_ = done + kPartOfTime * (done - begun);
  return changed;
}

void RankingComparison::look_at(placement::DecisionEngine& engine, const ServingModel::Serving& serving) {
  if (!engine.network_gate_applies()) return;
  const ModelVersion& version = serving.trusted != nullptr ? serving.trusted_version : serving.version;
  const std::string& from = version.loaded_from;
  // A number is the checkpoint of its own that the restart went on from; what is loaded has a name.
  const bool goes_on = std::exchange(gate_restored_, false) && !from.empty() && from[0] >= '0' && from[0] <= '9';
  if (!from.empty() && from != network_ && !goes_on) {
    // The evidence about a network that is promoted while it serves stays.
    if (network_ && engine.gates().network_test().blocks() > 0 && serving.trusted != nullptr && from == kPromotedModel)
      engine.gates().reset_learned();
    else
      engine.gates().reset("network " + from + " was loaded", version.certificate);
  }
  network_ = from;
}

// Network and planner each place the pod on a copy of the cluster, and so do the learned network and its reference; the
// gates compare their joules.
bool RankingComparison::contend(placement::DecisionEngine& engine, const Made& made, const placement::ClusterView& view,
                                const ServingModel::Serving& serving, const models::QNetwork* network) {
  if (network == nullptr || !engine.network_gate_applies(made.spec)) return false;
  const bool learned_changed =
      serving.trusted != nullptr && serving.network != nullptr &&
      serving.version.sha256 != serving.trusted_version.sha256 &&
      engine.compare_learned(view, made.spec, made.candidates, *serving.network, *serving.trusted);
  const bool learned = serving.trusted != nullptr && network != serving.trusted.get();
  return engine.compare(view, made.spec, made.candidates, *network, learned) || learned_changed;
}

}  // namespace wattle::controller
