#include "sim/policies/live_engine.hpp"

#include <utility>

namespace wattle::sim {

Result<std::unique_ptr<LiveEngine>> LiveEngine::make(LiveEngineOptions options, placement::ClusterModel cluster_model) {
  std::unique_ptr<LiveEngine> made(new LiveEngine(std::move(options), std::move(cluster_model)));
  const placement::RewardConfig& reward = made->options_.engine.decide.reward;
  if (const placement::PolicyInfo* info = made->options_.made_by; info != nullptr)
    made->engine_.set_policy(info->make(*info, made->options_.engine.network), reward);
  else
    WATTLE_CHECK(made->engine_.set_policy(made->options_.policy, reward));
  made->engine_.cluster_model().set_acting(made->options_.acting);
  made->engine_.set_acting_for_trials(made->options_.acting && made->options_.modelled != placement::Modelled::advice);
  made->engine_.shadow().set_modelled(made->options_.modelled, false);
  return made;
}

KeptVerdicts verdicts_of(const placement::DecisionEngine& engine) {
  return {engine.gates().network_test().saved(), engine.gates().why()};
}

Status LiveEngine::restore(const KeptVerdicts& kept) {
  if (options_.gate && !engine_.gates().restore(kept.network, kept.network_why))
    return fail(Errc::malformed, "verdicts", "are none that a gate can have");
  return {};
}

const models::QNetwork* LiveEngine::in_use(const models::QNetwork* initial) const {
  if (learned_ == nullptr) return initial;
  if (engine_.trials().active() && placement::is_network(engine_.trials().serves()))
    return engine_.trials().serves() == placement::Candidate::learned ? learned_ : initial;
  return engine_.learned_gated() ? initial : learned_;
}

placement::PlacementDecision LiveEngine::decide(const placement::ClusterView& view, const placement::PodSpec& pod,
                                                const models::QNetwork* network, double epsilon,
                                                std::mt19937_64& random, const placement::Ahead& ahead) {
  if (names_.size() != view.nodes.size()) {
    names_.clear();
    for (const placement::NodeView& node : view.nodes) names_.push_back(node.name);
  }
  placement::Question question{.view = view,
                               .pod = pod,
                               .candidates = names_,
                               .network = in_use(network),
                               .epsilon = epsilon,
                               .turn = decisions_++,
                               .random = random,
                               .ahead = ahead};
  placement::PlacementDecision advice = engine_.decide(question);
  question.turn = decisions_;
  if (auto on_copy = engine_.decide_on_copy(std::move(question))) advice = std::move(*on_copy);
  engine_.reserve(pod, advice, view.now);
  engine_.reserve_default(view, pod, advice.node);
  network_ = network;
  if (!to_compare_ && advice.top && pod.node_name.empty()) to_compare_ = pod;
  return advice;
}

void LiveEngine::placed(cluster::PodId id, const placement::PodSpec& pod, const std::string& node, std::size_t row,
                        MonoTime now) {
  if (id >= known_as_.size()) known_as_.resize(id + 1);
  known_as_[id] = engine_.on_pod_started(pod, node, row, now);
}

void LiveEngine::used(std::span<const PodUse> pods, double interval_s) {
  readings_.clear();
  for (const PodUse& each : pods) readings_.push_back({known_as_[each.pod], each.cores, each.waited});
  engine_.on_usage(readings_, interval_s);
}

void LiveEngine::ended(const placement::PodSpec& pod, std::size_t row, MonoTime now) {
  engine_.on_pod_ended(pod.uid, &pod, row, now);
}

void LiveEngine::refresh(const ViewFor& view_for) {
  engine_.refresh(view_for({}));
  const auto pod = std::exchange(to_compare_, std::nullopt);
  if (!pod) return;
  const placement::ClusterView& view = view_for(*pod);
  if (options_.gate && network_ != nullptr && engine_.network_gate_applies(*pod)) {
    if (learned_ != nullptr) engine_.compare_learned(view, *pod, names_, *learned_, *network_);
    const bool by_learned = learned_ != nullptr && !engine_.learned_gated();
    engine_.compare(view, *pod, names_, by_learned ? *learned_ : *network_, by_learned);
    const bool worth = !engine_.gates().network_gated();
    engine_.trials().offer(placement::Candidate::baseline, by_learned || worth);
    engine_.trials().offer(placement::Candidate::learned, by_learned && worth);
  }
}

void LiveEngine::reported(const World& world) {
  refresh([&world](const placement::PodSpec& pod) -> const placement::ClusterView& { return world.view(pod); });
}

}  // namespace wattle::sim
