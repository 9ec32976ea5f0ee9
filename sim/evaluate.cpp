#include "sim/evaluate.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "sim/baselines/baseline.hpp"
#include "sim/baselines/truth.hpp"

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

double decisions_to_recover(const EpisodeTrace& trace, double told_s, double until_s) {
  constexpr std::size_t kWindow = 10, kNeeded = 9;
  std::vector<bool> near;
  for (std::size_t i = 0; i < trace.at_s.size(); ++i)
    if (trace.at_s[i] >= told_s && trace.at_s[i] < until_s) near.push_back(trace.near[i]);
  for (std::size_t k = 0; k + kWindow <= near.size(); ++k) {
    const auto first = near.begin() + static_cast<std::ptrdiff_t>(k);
    if (static_cast<std::size_t>(std::count(first, first + kWindow, true)) >= kNeeded) return static_cast<double>(k);
  }
  return static_cast<double>(near.size());
}

namespace {

// Decides for one contestant, pod after pod.
class Chooser {
 public:
  static Result<Chooser> make(Env& env, const Contestant& contestant, std::uint64_t seed) {
    Chooser chooser(env, contestant, seed);
    if (contestant.rule == Rule::decide) {
      WATTLE_TRY(chooser.policy_, placement::make_policy(contestant.policy, seed));
    } else if (contestant.rule == Rule::baseline) {
      WATTLE_TRY(chooser.baseline_, make_baseline(contestant.policy));
    }
    return chooser;
  }

  std::optional<std::size_t> choose(const placement::ClusterView& view, std::uint64_t turn) {
    const placement::PodSpec& pod = env_->waiting().spec;
    nodes_ = env_->world().kube_nodes();
    switch (contestant_->rule) {
      case Rule::kube_default:
        return select({});
      case Rule::amortised:
        return select(amortised_scores(view, pod, options_.mask));
      case Rule::decide:
        return select(placement::decide(view, pod, env_->node_names(), {*policy_, contestant_->network}, options_, turn,
                                        exploration_)
                          .scores);
      case Rule::baseline:
        return by_score(view, pod);
      case Rule::truth:
        return least_true_watts(env_->world(), env_->waiting(), feasible());
    }
    return std::nullopt;
  }

  // Whether default scoring would never have chosen it, however ties fall.
  bool deviates(std::size_t node) const {
    const KubePod pod = kube_pod(env_->waiting().spec.request);
    const std::int64_t here = default_score(nodes_[node], pod);
    for (const std::size_t i : feasible())
      if (default_score(nodes_[i], pod) > here) return true;
    return false;
  }

 private:
  Chooser(Env& env, const Contestant& contestant, std::uint64_t seed)
      : env_(&env), contestant_(&contestant), ties_(mix(seed, 0x74696573ULL)), exploration_(mix(seed, 0x65787021ULL)) {
    options_.reward = contestant.reward.value_or(env.options().reward);
    options_.mask = env.options().mask;
  }

  std::optional<std::size_t> select(const std::vector<std::int64_t>& scores) {
    return select_node(nodes_, kube_pod(env_->waiting().spec.request), scores, kExtenderWeight, ties_);
  }
  std::vector<std::size_t> feasible() const {
    const KubePod pod = kube_pod(env_->waiting().spec.request);
    std::vector<std::size_t> fit;
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      if (fits(nodes_[i], pod)) fit.push_back(i);
    return fit;
  }
  std::optional<std::size_t> by_score(const placement::ClusterView& view, const placement::PodSpec& pod) {
    const std::vector<std::size_t> fit = feasible();
    if (fit.empty()) return std::nullopt;
    const Sight sight{view, pod, nodes_, fit};
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

  Env* env_;
  const Contestant* contestant_;
  std::unique_ptr<placement::Policy> policy_;
  std::unique_ptr<Baseline> baseline_;
  placement::DecideOptions options_;
  Random ties_, exploration_;
  std::vector<KubeNode> nodes_;
};

bool is_near(World& world, const SimPod& pod, std::size_t node) {
  double nearest_ms = world.truth(0).latency_ms;
  for (std::size_t i = 1; i < world.size(); ++i) nearest_ms = std::min(nearest_ms, world.truth(i).latency_ms);
  return world.truth(node).latency_ms <= std::max(nearest_ms, pod.spec.latency_soft_ms.value_or(0));
}

void note(EpisodeTrace& trace, Env& env, std::size_t node, bool near) {
  const std::vector<KubeNode> nodes = env.world().kube_nodes();
  std::vector<std::uint16_t> pods;
  for (const KubeNode& each : nodes) pods.push_back(static_cast<std::uint16_t>(each.pods));
  ++pods[node];
  trace.at_s.push_back(env.world().now_s());
  trace.energy_j.push_back(env.world().figures().energy_j);
  trace.pods.push_back(std::move(pods));
  trace.near.push_back(near);
}

// Mean over the shifts of latency; one is seen a telemetry interval and its way later.
double mean_recovery(const EpisodeTrace& trace, const WorldOptions& world) {
  std::vector<double> at_s;
  for (const LatencyShift& shift : world.trouble.shifts)
    if (at_s.empty() || shift.at_s > at_s.back()) at_s.push_back(shift.at_s);
  double sum = 0;
  for (std::size_t i = 0; i < at_s.size(); ++i) {
    const double told_s =
        (std::floor(at_s[i] / world.telemetry_period_s) + 1) * world.telemetry_period_s + world.telemetry_delay_s;
    sum += decisions_to_recover(trace, told_s, i + 1 < at_s.size() ? at_s[i + 1] : INFINITY);
  }
  return at_s.empty() ? 0 : sum / static_cast<double>(at_s.size());
}

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

void read_truth(EpisodeFigures& figures, Env& env) {
  const WorldFigures truth = env.world().figures();
  const double time_s = env.world().now_s();
  figures.mean_reward = ratio(figures.episode_return, figures.settled);
  figures.energy_j = truth.energy_j;
  figures.energy_per_pod_j = ratio(truth.energy_j, figures.placements);
  figures.energy_per_request_j = ratio(truth.energy_j, truth.requests);
  figures.active_node_s = truth.active_node_s;
  figures.late_ratio = ratio(truth.late_pod_s, truth.constrained_pod_s);
  figures.latency_p95_ms = truth.latency_ms.quantile(0.95);
  figures.response_ms = 1000 * ratio(truth.response_s, truth.requests);
  figures.response_p95_ms = truth.response_ms.quantile(0.95);
  figures.failed_ratio = ratio(truth.failed_requests, truth.requests + truth.failed_requests);
  figures.pressure_ratio = ratio(truth.pressure_pod_s, truth.pod_s);
  figures.imbalance_pct = ratio(truth.imbalance_pct_s, time_s);
  figures.utilisation_pct = 100 * ratio(truth.utilisation_s, time_s);
  figures.crowded_ratio = ratio(truth.crowded_node_s, time_s * static_cast<double>(env.world().size()));
  figures.stranded_ratio = ratio(truth.stranded_pod_s, truth.pod_s);
  figures.lost_pods = static_cast<double>(truth.lost_pods);
  figures.awake_nodes = ratio(truth.awake_node_s, time_s);
  figures.turned_away = static_cast<double>(env.turned_away());
  figures.wakes = static_cast<double>(truth.wakes);
}

}  // namespace

Result<EpisodeFigures> run_episode(Env& env, const Contestant& contestant, std::uint64_t seed, EpisodeTrace* trace) {
  WATTLE_TRY(Chooser chooser, Chooser::make(env, contestant, seed));
  EpisodeFigures figures;
  const auto collect = [&] {
    for (const Settled& settled : env.take_settled()) {
      figures.episode_return += placement::evaluate(env.options().reward, settled.outcome).value;
      figures.settled += 1;
    }
  };
  env.begin(seed);
  double last_s = 0, last_j = 0, deviations = 0;
  for (std::uint64_t turn = 0; !env.done(); ++turn) {
    collect();
    const placement::ClusterView view = env.view();
    const auto target = chooser.choose(view, turn);
    last_s = env.world().now_s();
    last_j = env.world().figures().energy_j;
    if (!target) {
      env.turn_away();
      continue;
    }
    figures.placements += 1;
    if (chooser.deviates(*target)) deviations += 1;
    if (trace) note(*trace, env, *target, is_near(env.world(), env.waiting(), *target));
    WATTLE_CHECK(env.bind(*target, view));
  }
  collect();
  read_truth(figures, env);
  figures.deviates_ratio = ratio(deviations, figures.placements);
  figures.aftermath_w = ratio(figures.energy_j - last_j, env.world().now_s() - last_s);
  if (trace) {
    figures.recover_decisions = mean_recovery(*trace, env.world_options());
    const auto& changes = env.world_options().trouble.curve_changes;
    if (!changes.empty()) trace->curves_change_s = changes.front().at_s;
  }
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
