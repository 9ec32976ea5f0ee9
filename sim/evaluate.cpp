#include "sim/evaluate.hpp"

#include <algorithm>
#include <cassert>

namespace wattle::sim {

namespace {

// Amortised rank: the idle watts that the pod's share of the node stands for, and what it adds. Scores as decide gives
// them.
std::vector<std::int64_t> amortised_scores(const placement::ClusterView& view, const placement::PodSpec& pod,
                                           const placement::MaskOptions& mask) {
  std::vector<std::int64_t> scores(view.nodes.size(), 0);
  std::optional<std::size_t> best;
  double best_w = 0;
  for (std::size_t i = 0; i < view.nodes.size(); ++i) {
    const placement::NodeView& node = view.nodes[i];
    if (!placement::mask_reason(node, pod, mask).empty()) continue;
    const double cores = node.allocatable.cpu_cores;
    const double used_ratio = (placement::cpu_utilisation(node).value_or(0) * cores + node.unsettled_cpu_cores) / cores;
    const double share =
        std::max(pod.request.cpu_cores / cores, pod.request.memory_bytes / node.allocatable.memory_bytes);
    const double cost_w =
        node.curve.idle_w() * share +
        node.curve.marginal_w(used_ratio, placement::kDemandOfRequest * pod.request.cpu_cores / cores);
    if (best && cost_w >= best_w) continue;
    best = i;
    best_w = cost_w;
  }
  if (best) scores[*best] = 10;
  return scores;
}

}  // namespace

std::optional<std::size_t> bind_target(Env& env, const std::vector<std::int64_t>& scores, Random& random) {
  const std::vector<KubeNode> nodes = env.world().kube_nodes();
  return select_node(nodes, kube_pod(env.waiting().spec.request), scores, kExtenderWeight, random);
}

Result<EpisodeFigures> run_episode(Env& env, const Contestant& contestant, std::uint64_t seed) {
  WATTLE_TRY(const auto policy, placement::make_policy(contestant.policy, seed));
  placement::DecideOptions options;
  options.reward = env.options().reward;
  options.mask = env.options().mask;
  Random ties(mix(seed, 0x74696573ULL)), exploration(mix(seed, 0x65787021ULL));
  EpisodeFigures figures;
  const auto collect = [&] {
    for (const Settled& settled : env.take_settled()) {
      figures.episode_return += placement::evaluate(options.reward, settled.outcome).value;
      figures.settled += 1;
    }
  };
  env.begin(seed);
  for (std::uint64_t turn = 0; !env.done(); ++turn) {
    collect();
    const placement::ClusterView view = env.view();
    const placement::PodSpec& pod = env.waiting().spec;
    std::vector<std::int64_t> scores;
    if (contestant.rule == Rule::decide)
      scores = placement::decide(view, pod, env.node_names(), {*policy, contestant.network}, options, turn, exploration)
                   .scores;
    else if (contestant.rule == Rule::amortised)
      scores = amortised_scores(view, pod, options.mask);
    const auto target = bind_target(env, scores, ties);
    if (!target) {
      env.turn_away();
      continue;
    }
    figures.placements += 1;
    WATTLE_CHECK(env.bind(*target, view));
  }
  collect();
  const WorldFigures truth = env.world().figures();
  figures.mean_reward = figures.settled > 0 ? figures.episode_return / figures.settled : 0;
  figures.energy_j = truth.energy_j;
  figures.late_ratio = truth.constrained_pod_s > 0 ? truth.late_pod_s / truth.constrained_pod_s : 0;
  figures.pressure_ratio = truth.pod_s > 0 ? truth.pressure_pod_s / truth.pod_s : 0;
  figures.awake_nodes = truth.awake_node_s / env.world().now_s();
  figures.turned_away = static_cast<double>(env.turned_away());
  figures.wakes = static_cast<double>(truth.wakes);
  return figures;
}

std::vector<double> ContestantFigures::column(double EpisodeFigures::*what) const {
  std::vector<double> values;
  for (const EpisodeFigures& episode : episodes) values.push_back(episode.*what);
  return values;
}

const ContestantFigures& Evaluation::of(const std::string& name) const {
  const auto found =
      std::find_if(contestants.begin(), contestants.end(), [&](const auto& each) { return each.name == name; });
  assert(found != contestants.end());
  return *found;
}

Result<Evaluation> evaluate(const EnvOptions& options, const std::vector<Contestant>& contestants,
                            const std::vector<std::uint64_t>& seeds) {
  Evaluation evaluation;
  evaluation.scenario = options.scenario.name;
  evaluation.seeds = seeds;
  Env env(options);
  for (const Contestant& contestant : contestants) {
    ContestantFigures figures;
    figures.name = contestant.name;
    for (const std::uint64_t seed : seeds) {
      WATTLE_TRY(auto episode, run_episode(env, contestant, seed));
      figures.episodes.push_back(episode);
    }
    evaluation.contestants.push_back(std::move(figures));
  }
  return evaluation;
}

namespace {
std::vector<std::uint64_t> seeds_from(std::uint64_t first, std::size_t n) {
  std::vector<std::uint64_t> seeds;
  for (std::size_t i = 0; i < n; ++i) seeds.push_back(first + i);
  return seeds;
}
}  // namespace

std::vector<std::uint64_t> validation_seeds(std::size_t n) { return seeds_from(kFirstValidationSeed, n); }
std::vector<std::uint64_t> held_out_seeds(std::size_t n) { return seeds_from(kFirstHeldOutSeed, n); }

}  // namespace wattle::sim
