#include "sim/contestant.hpp"

#include "sim/baselines/truth.hpp"

namespace wattle::sim {

Chooser::Chooser(const Contestant& contestant, const ChooserOptions& options, std::uint64_t seed)
    : contestant_(&contestant), ties_(mix(seed, 0x74696573ULL)), exploration_(mix(seed, 0x65787021ULL)) {
  options_.reward = contestant.reward.value_or(options.reward);
  options_.mask = options.mask;
}

Result<Chooser> Chooser::make(const Contestant& contestant, const ChooserOptions& options, std::uint64_t seed) {
  Chooser chooser(contestant, options, seed);
  placement::Knowledge knowledge(options.knowledge);
  if (!options.known.empty()) WATTLE_CHECK(knowledge.restore(options.known));
  LiveEngineOptions live{"kube-default", {seed, chooser.options_}, contestant.gate};
  if (contestant.rule == Rule::decide) live.policy = contestant.policy;
  WATTLE_TRY(chooser.engine_, LiveEngine::make(std::move(live), std::move(knowledge)));
  if (contestant.rule == Rule::baseline) {
    WATTLE_TRY(chooser.baseline_, make_baseline(contestant.policy));
  }
  return chooser;
}

std::optional<std::size_t> Chooser::choose(const World& world, const placement::ClusterView& view, const SimPod& pod) {
  nodes_ = world.kube_nodes();
  const KubePod kube = kube_pod(pod.spec.request);
  const auto bound = [&](const std::vector<std::int64_t>& scores) {
    return select_node(nodes_, kube, scores, kExtenderWeight, ties_);
  };
  switch (contestant_->rule) {
    case Rule::kube_default:
      return bound({});
    case Rule::decide:
      return bound(engine_->decide(view, pod.spec, contestant_->network, 0, exploration_).scores);
    case Rule::baseline:
      return by_score(view, pod);
    case Rule::truth:
      return least_true_watts(world, pod, feasible(kube));
  }
  return std::nullopt;
}

bool Chooser::deviates(const SimPod& pod, std::size_t node) const {
  const KubePod kube = kube_pod(pod.spec.request);
  const std::int64_t here = default_score(nodes_[node], kube);
  for (const std::size_t i : feasible(kube))
    if (default_score(nodes_[i], kube) > here) return true;
  return false;
}

std::vector<std::size_t> Chooser::feasible(const KubePod& pod) const {
  std::vector<std::size_t> fit;
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (fits(nodes_[i], pod)) fit.push_back(i);
  return fit;
}

std::optional<std::size_t> Chooser::by_score(const placement::ClusterView& view, const SimPod& pod) {
  const std::vector<std::size_t> fit = feasible(kube_pod(pod.spec.request));
  if (fit.empty()) return std::nullopt;
  const Sight sight{view, pod.spec, nodes_, fit};
  const std::vector<double> scores = baseline_->score(sight);
  std::vector<std::size_t> best;
  for (const std::size_t i : fit) {
    if (!best.empty() && scores[i] < scores[best.front()]) continue;
    if (!best.empty() && scores[i] > scores[best.front()]) best.clear();
    best.push_back(i);
  }
  const std::size_t chosen = best[pick(ties_, best.size())];
  baseline_->placed(sight, chosen);
  return chosen;
}

}  // namespace wattle::sim
