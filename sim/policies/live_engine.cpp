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
  made->engine_.cluster_model().pod_time().set_acting(made->options_.acting);
  made->engine_.set_acting_for_trials(made->options_.acting && made->options_.modelled != placement::Modelled::advice);
  made->engine_.shadow().set_modelled(made->options_.modelled, false);
  return made;
}

Status LiveEngine::restore(const placement::CandidateTrials::State& kept) {
  if (!engine_.trials().restore(kept)) return fail(Errc::malformed, "candidates", "their state is impossible");
  return {};
}

const models::QNetwork* LiveEngine::in_use(const models::QNetwork* initial) const {
  const bool by_initial = engine_.measured() && engine_.trials().serves() != placement::Candidate::learned;
  return learned_ == nullptr || by_initial ? initial : learned_;
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
  engine_.trials().offer(placement::Candidate::baseline, network != nullptr);
  engine_.trials().offer(placement::Candidate::learned, learned_ != nullptr);
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

void LiveEngine::refresh(const placement::ClusterView& view) { engine_.refresh(view); }

void LiveEngine::reported(const World& world) { refresh(world.view({})); }

}  // namespace wattle::sim
