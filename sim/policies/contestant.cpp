#include "sim/policies/contestant.hpp"

#include "placement/decide/policies/registry.hpp"
#include "placement/learn/tabular.hpp"
#include "sim/policies/true_greedy.hpp"

namespace wattle::sim {

Chooser::Chooser(const Contestant& contestant, const ChooserOptions& options, std::uint64_t seed)
    : contestant_(&contestant), ties_(mix(seed, 0x74696573ULL)), exploration_(mix(seed, 0x65787021ULL)) {
  options_.reward = contestant.reward.value_or(options.reward);
  options_.mask = options.mask;
  extender_weight_ = options.extender_weight;
}

Result<Chooser> Chooser::make(const Contestant& contestant, const ChooserOptions& options, std::uint64_t seed) {
  Chooser chooser(contestant, options, seed);
  placement::ClusterModel cluster_model(options.cluster_model);
  if (!options.known.empty()) WATTLE_CHECK(cluster_model.restore(options.known));
  cluster_model.pod_time().set_limits(options.limits);
  const bool ranks = contestant.binding != Binding::unadvised && contestant.binding != Binding::truth;
  LiveEngineOptions live{ranks ? contestant.policy : "kube-default",
                         {chooser.options_, options.network},
                         contestant.binding == Binding::advised};
  live.engine.trials.on = contestant.measured;
  live.engine.trials.seed = seed;
  live.made_by = contestant.made_by;
  WATTLE_TRY(chooser.engine_, LiveEngine::make(std::move(live), std::move(cluster_model)));
  if (options.candidates && contestant.measured) WATTLE_CHECK(chooser.engine_->restore(*options.candidates));
  return chooser;
}

std::optional<std::size_t> Chooser::choose(const World& world, const placement::ClusterView& view, const SimPod& pod,
                                           const placement::Ahead& ahead) {
  deferred_.reset();
  nodes_ = world.kube_nodes();
  const KubePod kube = kube_pod(pod.spec.request);
  const auto bound = [&](const std::vector<std::int64_t>& scores) {
    return select_node(nodes_, kube, scores, extender_weight_, ties_);
  };
  switch (contestant_->binding) {
    case Binding::unadvised:
      return bound({});
    case Binding::advised: {
      placement::PlacementDecision advice =
          engine_->decide(view, pod.spec, contestant_->network, 0, exploration_, ahead);
      deferred_ = std::move(advice.deferred);
      if (deferred_) return std::nullopt;
      return bound(advice.scores);
    }
    case Binding::alone:
      return alone(view, pod);
    case Binding::truth:
      return least_true_watts(world, pod, feasible(kube), contestant_->wait_price_w);
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

std::optional<std::size_t> Chooser::alone(const placement::ClusterView& view, const SimPod& pod) {
  const std::vector<std::size_t> fit = feasible(kube_pod(pod.spec.request));
  if (fit.empty()) return std::nullopt;
  const std::vector<double> values = engine_->values(view, pod.spec, fit, nodes_);
  std::vector<std::size_t> best;
  for (const std::size_t i : fit) {
    if (!best.empty() && values[i] < values[best.front()]) continue;
    if (!best.empty() && values[i] > values[best.front()]) best.clear();
    best.push_back(i);
  }
  return best[pick(ties_, best.size())];
}

Result<Contestant> contestant_named(std::string_view asked, const models::QNetwork* network) {
  const std::string name(asked);
  if (name == "true-greedy") return Contestant{name, Binding::truth, {}};
  if (name == "true-budget") {
    Contestant made{name, Binding::truth, {}};
    made.within_budget = true;
    return made;
  }
  if (name == "kube-default") return Contestant{name, Binding::unadvised, name};
  const bool measured = name == "dqn-measured";
  auto policy = placement::parse_policy(measured ? "dqn" : name);
  if (!policy) {
    policy.error().fix += "; or dqn-measured, true-greedy, true-budget";
    return forward_error(policy);
  }
  if (policy->learns && network != nullptr && placement::policy_of(*network) != policy->name)
    return fail(Errc::conflict, "policy " + name,
                "the file of --model is for policy " + std::string(placement::policy_of(*network)),
                "use that policy, or another file");
  if (policy->learns && network == nullptr)
    return fail(Errc::not_found, "policy " + name, "has no network", "pass --model FILE");
  Contestant made{name, Binding::advised, std::string(policy->name)};
  if (policy->learns) made.network = network;
  made.measured = measured;
  return made;
}

}  // namespace wattle::sim
