#include "sim/improve/rollout.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>

#include "placement/worth/features.hpp"
#include "placement/worth/shortlist.hpp"
#include "sim/improve/fleet_view.hpp"
#include "sim/improve/futures.hpp"

namespace wattle::sim::consolidation {

namespace {

// Watts at the pods' true means, updated as pods are placed.
class MeanWatts {
 public:
  MeanWatts(const Episode& episode, const Cluster& cluster) : episode_(episode) {
    pods_.resize(episode.servers.size());
    used_.resize(episode.servers.size());
    watts_.resize(episode.servers.size());
    for (std::size_t p = 0; p < cluster.node_of().size(); ++p)
      if (const std::size_t i = cluster.node_of()[p]; i != Cluster::kNowhere) add(p, i);
    total_w_ = 0;
    for (std::size_t i = 0; i < pods_.size(); ++i) total_w_ += watts_[i] = node_w(i);
  }
  void place(std::size_t pod, std::size_t node) {
    add(pod, node);
    total_w_ -= watts_[node];
    total_w_ += watts_[node] = node_w(node);
  }
  double total_w() const { return total_w_; }

 private:
  void add(std::size_t pod, std::size_t node) {
    ++pods_[node];
    used_[node] += episode_.pods[pod].times * episode_.day->mean_cores[episode_.pods[pod].machine];
  }
  double node_w(std::size_t i) const {
    return server_w(episode_.servers[i], episode_.options.sleep, pods_[i], used_[i]);
  }
  const Episode& episode_;
  std::vector<std::size_t> pods_;
  std::vector<double> used_, watts_;
  double total_w_ = 0;
};

// Continues after the candidate; calls `after` once for each further placement, with the pod and its node.
template <class After>
void go_on(const Episode& episode, Cluster& cluster, std::size_t pod, std::size_t node, FleetChooser& policy,
           double until_s, After&& after) {
  cluster.place(pod, node);
  after(pod, node);
  for (std::size_t p = pod + 1; p < episode.pods.size() && episode.pods[p].arrives_s <= until_s; ++p) {
    cluster.advance_to(episode.pods[p].arrives_s);
    const auto chosen = policy.choose(cluster.fleet(), cluster.ask(p));
    if (!chosen) continue;
    cluster.place(p, *chosen);
    after(p, *chosen);
  }
}

// Watts after each placement from this one on.
std::vector<double> fill_watts(const Episode& episode, const Cluster& now, std::size_t pod, std::size_t node,
                               FleetChooser policy) {
  Cluster cluster = now;
  MeanWatts watts(episode, cluster);
  std::vector<double> all;
  go_on(episode, cluster, pod, node, policy, std::numeric_limits<double>::infinity(),
        [&](std::size_t p, std::size_t i) {
          watts.place(p, i);
          all.push_back(watts.total_w());
        });
  return all;
}

double churn_w(const Episode& episode, const Cluster& now, std::size_t pod, std::size_t node, FleetChooser policy,
               double horizon_s) {
  Cluster cluster = now;
  const double from_s = episode.pods[pod].arrives_s, to_s = std::min(from_s + horizon_s, episode.end_s);
  // Waiting counts at the price at the time of the decision.
  const double price_w = now.fleet().cpu_wait_price_w;
  const double before_j = cluster.energy_j(), before_core_s = cluster.waited_core_s();
  go_on(episode, cluster, pod, node, policy, to_s, [](std::size_t, std::size_t) {});
  cluster.advance_to(to_s);
  const double cost_j = cluster.energy_j() - before_j + price_w * (cluster.waited_core_s() - before_core_s);
  return cost_j / episode.options.life_s;
}

// Probability that the fill ends with each placement from this one on, to the policy's knowledge: uniform between its
// bounds.
std::vector<double> ends_here(const Episode& episode, std::size_t pod, std::size_t steps) {
  const double low = episode.expected_cores.front(), high = episode.expected_cores.back();
  std::vector<double> weights(steps, 0.0);
  double sum = 0;
  for (std::size_t k = 0; k < steps; ++k) {
    const double cores = static_cast<double>(pod + k + 1) * kPodRequest.cpu_cores;
    sum += weights[k] = cores >= low - 0.5 && cores <= high + 0.5 ? 1.0 : 0.0;
  }
  if (sum <= 0) {  // beyond the known range: it may end at once
    weights.assign(steps, 0.0);
    weights.front() = sum = 1;
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

std::vector<double> fill_costs_w(const Episode& episode, const Cluster& now, std::size_t pod,
                                 std::span<const std::size_t> candidates, const FleetChooser& policy) {
  std::vector<double> cost_w, base_w, weights;
  for (const std::size_t node : candidates) {
    const std::vector<double> watts = fill_watts(episode, now, pod, node, policy);
    if (base_w.empty()) {
      base_w = watts;
      weights = ends_here(episode, pod, watts.size());
    }
    // Relative to the first candidate's watts at the same number of pods; scaled to the mean watts there.
    double sum = 0, mean_w = 0;
    for (std::size_t k = 0; k < std::min(watts.size(), base_w.size()); ++k) {
      sum += weights[k] * watts[k] / base_w[k];
      mean_w += weights[k] * base_w[k];
    }
    cost_w.push_back(sum * mean_w);
  }
  return cost_w;
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
  const Options& drawn = episode.options;
  const double horizon_s = options.horizon_lives * drawn.life_s;
  Cluster cluster(episode);
  placement::Planner watcher({});
  FleetChooser chooser(network, options.network);
  placement::ClusterView scratch;
  std::size_t order = 0;
  const auto judged = [&](std::size_t p) {
    return !drawn.churn || (episode.pods[p].arrives_s >= episode.measure_from_s &&
                            episode.pods[p].arrives_s + horizon_s <= episode.end_s);
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
          const auto regrets_w =
              rollout_regrets_w(episode, cluster, p, candidates, chooser, horizon_s, options.futures);
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
                                      double horizon_s, std::size_t futures) {
  std::vector<double> cost_w(candidates.size(), 0.0);
  const auto add = [&](const Episode& future, const Cluster& there) {
    for (std::size_t c = 0; c < candidates.size(); ++c)
      cost_w[c] += churn_w(future, there, pod, candidates[c], policy, horizon_s) / static_cast<double>(futures);
  };
  if (episode.options.churn) {
    add(episode, now);
    for (std::size_t k = 1; k < futures; ++k) {
      const Episode future = another_future(episode, pod, k);
      add(future, now.in(future));
    }
  } else {
    cost_w = fill_costs_w(episode, now, pod, candidates, policy);
  }
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
    drawn.fill_longest = true;
    drawn.nodes = options.min_nodes + pick(random, options.max_nodes - options.min_nodes + 1);
    judge_some(make_episode(data, drawn, seed), options, random, network, labels);
  }
  return labels;
}

}  // namespace wattle::sim::consolidation
