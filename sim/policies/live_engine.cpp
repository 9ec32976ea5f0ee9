#include "sim/policies/live_engine.hpp"

#include <utility>

namespace wattle::sim {

Result<std::unique_ptr<LiveEngine>> LiveEngine::make(LiveEngineOptions options, placement::ClusterModel knowledge) {
  std::unique_ptr<LiveEngine> made(new LiveEngine(std::move(options), std::move(knowledge)));
  WATTLE_CHECK(made->engine_.take(made->options_.policy, made->options_.engine.decide.reward));
  made->engine_.knowledge().set_acting(made->options_.acting);
  made->engine_.set_shadow(made->options_.shadow, false);
  return made;
}

KeptVerdicts verdicts_of(const placement::DecisionEngine& engine) {
  return {engine.plan_record().state(), engine.network_gate().state(), engine.gate_why()};
}

Status LiveEngine::restore(const KeptVerdicts& kept) {
  const bool restored = engine_.restore_plan_record(kept.plan) &&
                        (!options_.gate || engine_.restore_gate(kept.network, kept.network_why));
  if (!restored) return fail(Errc::malformed, "verdicts", "are none that a gate can have");
  return {};
}

placement::PlacementDecision LiveEngine::decide(const placement::ClusterView& view, const placement::PodSpec& pod,
                                                const models::QNetwork* network, double epsilon,
                                                std::mt19937_64& random, const placement::Ahead& ahead) {
  if (names_.size() != view.nodes.size()) {
    names_.clear();
    for (const placement::NodeView& node : view.nodes) names_.push_back(node.name);
  }
  placement::PlacementDecision advice =
      engine_.decide(view, pod, names_, network, epsilon, decisions_++, random, {}, ahead);
  if (auto on_copy = engine_.decide_on_copy(view, pod, names_, network, epsilon, decisions_, random, {}, ahead))
    advice = std::move(*on_copy);
  engine_.reserve(pod, advice, view.now);
  network_ = network;
  if (!to_compare_ && advice.top && pod.node_name.empty()) to_compare_ = pod;
  return advice;
}

void LiveEngine::placed(cluster::PodId id, const placement::PodSpec& pod, const std::string& node, std::size_t row,
                        MonoTime now) {
  if (id >= known_as_.size()) known_as_.resize(id + 1);
  known_as_[id] = engine_.came(pod, node, row, now);
}

void LiveEngine::used(std::span<const PodUse> pods, double interval_s) {
  readings_.clear();
  for (const PodUse& each : pods) readings_.push_back({known_as_[each.pod], each.cores, each.waited});
  engine_.used(readings_, interval_s);
}

void LiveEngine::ended(const placement::PodSpec& pod, std::size_t row, MonoTime now) {
  engine_.left(pod.uid, &pod, row, now);
}

void LiveEngine::refresh(const ViewFor& view_for) {
  engine_.refresh(view_for({}));
  const auto pod = std::exchange(to_compare_, std::nullopt);
  if (!pod) return;
  const placement::ClusterView& view = view_for(*pod);
  engine_.try_plan(view, *pod, names_);
  if (options_.gate && network_ != nullptr && engine_.network_gate_applies(*pod))
    engine_.compare(view, *pod, names_, *network_);
}

void LiveEngine::told(const World& world) {
  refresh([&world](const placement::PodSpec& pod) -> const placement::ClusterView& { return world.view(pod); });
}

}  // namespace wattle::sim
