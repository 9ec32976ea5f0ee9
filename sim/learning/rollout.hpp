// rollout: what each choice for one pod would have cost, all else being the same; the teacher of networks.
// Method   cluster and policy are cloned; each candidate is tried once, then the policy goes on with the same pods, demands,
//          lives and noise. Fill: watts at the pods' true means after every further placement, weighed by how likely the
//          policy may think it that the fill ends there, each relative to what the first candidate's future draws then.
//          Churn: joules until the horizon, and what was waited at the price that waiting had when it was decided
// Futures  under churn a choice may be judged by several of them (sim/learning/futures), the same ones for all candidates: the mean
// Truth    uses the future of the episode: only for training episodes, never within a policy
// Units    regret in W0 (models::Observation, placement/features): watts, under churn over the mean life
// Errors   none
// Threads  single owner; pure but for the clones
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "models/frozen/q_network.hpp"
#include "placement/policies/policy.hpp"
#include "sim/episode/told_cluster.hpp"

namespace wattle::sim::consolidation {

using ClonePolicy = std::function<std::unique_ptr<placement::Policy>()>;  // a copy of the policy as it stands

// Watts of each candidate beyond the least of them. `episode` is the cluster's own and reaches as far as the policy may expect
// pods to come (Options::fill_longest).
std::vector<double> rollout_regrets_w(const Episode& episode, const Cluster& now, std::size_t pod,
                                      std::span<const std::size_t> candidates, const ClonePolicy& policy,
                                      double horizon_s, std::size_t futures = 1);

// A judged decision.
struct Label {
  models::Observation state;
  std::vector<float> regret;  // [nodes], W0; NaN: not tried
  std::size_t order = 0;      // among the judged decisions of its episode
};

struct LabelOptions {
  Options episode;  // nodes are drawn from min_nodes to max_nodes
  std::size_t min_nodes = 5, max_nodes = 14;
  std::uint64_t first_seed = 1000;
  std::size_t episodes = 10;
  std::size_t per_episode = 25;
  std::size_t likely = 4, others = 2;  // candidates: the best by prior, and others at random
  double explore = 0.1;                // share of placements on another candidate than the policy's
  double horizon_lives = 3;
  std::size_t futures = 1;            // that a choice is judged by, under churn
  double unplanned = 0;               // share of the judged decisions that are kept as they look without a plan
  placement::NetworkOptions network;  // of the one that plays
  bool listed = false;                // of many nodes the shortlist is judged, as the network sees it; else all of them
  std::size_t shard = 0, shards = 1;  // of the judged decisions each shards-th, from the shard-th on
};
// Plays the episode and judges some of its decisions; of the options the episode, its nodes and its seed are not looked at.
std::vector<Label> judge_episode(const Episode& episode, const LabelOptions& options,
                                 const std::shared_ptr<const models::QNetwork>& network);
// Plays training episodes by `network` (by the planner where there is none) and judges some of its decisions.
std::vector<Label> collect_labels(const Dataset& data, const LabelOptions& options,
                                  const std::shared_ptr<const models::QNetwork>& network);

}  // namespace wattle::sim::consolidation
