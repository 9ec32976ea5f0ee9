#include "sim/improve/rollout.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "placement/worth/features.hpp"
#include "placement/worth/shortlist.hpp"

namespace wattle::sim::consolidation {

namespace {

// Joules until the horizon, over a mean life, if the candidate is taken and the policy continues.
double churn_w(const Episode& episode, const Cluster& now, std::size_t pod, std::size_t node, FleetChooser policy,
               double horizon_s) {
  Cluster cluster = now;
  const double to_s = std::min(episode.pods[pod].arrives_s + horizon_s, episode.end_s);
  const double before_j = cluster.energy_j();
  cluster.place(pod, node);
  for (std::size_t p = pod + 1; p < episode.pods.size() && episode.pods[p].arrives_s <= to_s; ++p) {
    cluster.advance_to(episode.pods[p].arrives_s);
    if (const auto chosen = policy.choose(cluster.fleet(), cluster.ask(p))) cluster.place(p, *chosen);
  }
  cluster.advance_to(to_s);
  return (cluster.energy_j() - before_j) / episode.options.life_s;
}

double w0_of(const models::Observation& state) { return std::exp2(8.0 * static_cast<double>(state.pod[12])) - 1; }

std::vector<std::size_t> candidates_of(const models::Observation& state, std::size_t likely, std::size_t others,
                                       Random& random) {
  std::vector<std::size_t> nodes;
  for (std::size_t i = 0; i < state.nodes; ++i)
    if (state.valid[i] != 0) nodes.push_back(i);
  std::stable_sort(nodes.begin(), nodes.end(), [&](auto a, auto b) { return state.prior[a] > state.prior[b]; });
  for (std::size_t k = likely; k < std::min(nodes.size(), likely + others); ++k)
    std::swap(nodes[k], nodes[k + pick(random, nodes.size() - k)]);
  nodes.resize(std::min(nodes.size(), likely + others));
  return nodes;
}

// The judged nodes: all, or those of the shortlist as if there were no others.
struct Listed {
  models::Observation state;
  std::vector<std::size_t> rows;  // the nodes; empty: all
  std::vector<std::size_t> nodes_of(std::span<const std::size_t> listed) const {
    std::vector<std::size_t> nodes(listed.begin(), listed.end());
    if (!rows.empty())
      for (std::size_t& each : nodes) each = rows[each];
    return nodes;
  }
};
Listed listed_of(models::Observation state, std::size_t most, std::size_t chosen) {
  if (!placement::beyond_shortlist(state, most)) return {std::move(state), {}};
  auto rows = placement::shortlist(state, most, chosen);
  auto alone = placement::listed_alone(state, rows);
  return {std::move(alone), std::move(rows)};
}

Label label_of(models::Observation state, std::span<const std::size_t> candidates, std::span<const double> regrets_w) {
  Label label{std::move(state), {}};
  label.regret.assign(label.state.nodes, std::nanf(""));
  const double w0 = std::max(w0_of(label.state), 1e-3);
  for (std::size_t c = 0; c < candidates.size(); ++c)
    label.regret[candidates[c]] = static_cast<float>(regrets_w[c] / w0);
  return label;
}

void judge_some(const Episode& episode, const LabelOptions& options, Random& random,
                const std::shared_ptr<const models::QNetwork>& network, std::vector<Label>& out) {
  assert(episode.options.churn);
  const double horizon_s = options.horizon_lives * episode.options.life_s;
  Cluster cluster(episode);
  placement::Planner watcher({});
  FleetChooser chooser(network, options.network);
  placement::ClusterView scratch;
  std::size_t order = 0;
  const auto judged = [&](std::size_t p) {
    return episode.pods[p].arrives_s >= episode.measure_from_s &&
           episode.pods[p].arrives_s + horizon_s <= episode.end_s;
  };
  std::size_t left = 0;
  for (std::size_t p = 0; p < episode.pods.size(); ++p) left += judged(p) ? 1 : 0;
  std::size_t wanted = options.per_episode;
  for (std::size_t p = 0; p < episode.pods.size() && wanted > 0; ++p) {
    cluster.advance_to(episode.pods[p].arrives_s);
    const placement::PodEstimate ask = cluster.ask(p);
    PlannedAsk asked = observe_planned(watcher, cluster.fleet(), ask, scratch);
    auto chosen = chooser.choose(cluster.fleet(), ask);
    if (!chosen) continue;
    const Listed listed =
        listed_of(std::move(asked.observation), options.listed ? options.network.shortlist : 0, *chosen);
    const auto tried = candidates_of(listed.state, options.likely, options.others, random);
    const auto candidates = listed.nodes_of(tried);
    if (judged(p)) {
      const bool take = uniform(random) * static_cast<double>(left--) < static_cast<double>(wanted);
      if (take && candidates.size() > 1) {
        --wanted;
        const bool ours = order % options.shards == options.shard;
        if (ours) {
          const auto regrets_w = rollout_regrets_w(episode, cluster, p, candidates, chooser, horizon_s);
          out.push_back(label_of(listed.state, tried, regrets_w));
          out.back().order = order;
        }
        ++order;
      }
    }
    if (uniform(random) < options.explore) chosen = candidates[pick(random, candidates.size())];
    cluster.place(p, *chosen);
  }
}

}  // namespace

std::vector<double> rollout_regrets_w(const Episode& episode, const Cluster& now, std::size_t pod,
                                      std::span<const std::size_t> candidates, const FleetChooser& policy,
                                      double horizon_s) {
  std::vector<double> cost_w;
  for (const std::size_t node : candidates) cost_w.push_back(churn_w(episode, now, pod, node, policy, horizon_s));
  const double least_w = *std::min_element(cost_w.begin(), cost_w.end());
  for (double& each : cost_w) each -= least_w;
  return cost_w;
}

std::vector<Label> judge_episode(const Episode& episode, const LabelOptions& options,
                                 const std::shared_ptr<const models::QNetwork>& network) {
  std::vector<Label> labels;
  Random random(mix(episode.seed, 0x6c6162656cULL));
  judge_some(episode, options, random, network, labels);
  return labels;
}

std::vector<Label> collect_labels(const Dataset& data, const LabelOptions& options,
                                  const std::shared_ptr<const models::QNetwork>& network) {
  std::vector<Label> labels;
  for (std::size_t e = 0; e < options.episodes; ++e) {
    const std::uint64_t seed = options.first_seed + e;
    Random random(mix(seed, 0x6c6162656cULL));
    Options drawn = options.episode;
    drawn.side = Side::train;
    drawn.nodes = options.min_nodes + pick(random, options.max_nodes - options.min_nodes + 1);
    judge_some(make_episode(data, drawn, seed), options, random, network, labels);
  }
  return labels;
}

}  // namespace wattle::sim::consolidation
