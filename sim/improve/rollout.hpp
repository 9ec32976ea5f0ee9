// rollout: computes the cost of each choice for one pod, all else being equal. These labels train the networks.
// Method   copies cluster and chooser. Each candidate is tried once, then the chooser continues with the same pods,
//          demands and lives until the horizon. The cost is the joules until then
// Truth    uses the future of the episode: only for training episodes, in which pods come and go; never within a policy
// Units    regret in W0 (models::Observation, placement/worth/features): watts over the mean life
// Errors   none
// Threads  single owner; pure
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "models/frozen/q_network.hpp"
#include "sim/improve/fleet_chooser.hpp"
#include "sim/improve/replayed_cluster.hpp"

namespace wattle::sim::consolidation {

// Returns the watts of each candidate above those of the cheapest one. `episode` is the cluster's own.
std::vector<double> rollout_regrets_w(const Episode& episode, const Cluster& now, std::size_t pod,
                                      std::span<const std::size_t> candidates, const FleetChooser& policy,
                                      double horizon_s);

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
  double explore = 0.1;                // share of placements on a candidate other than the policy's
  double horizon_lives = 3;
  placement::NetworkOptions network;  // for the policy that runs the episode
  // Judges the shortlist of a large fleet, as the network sees it; otherwise all nodes.
  bool listed = false;
  std::size_t shard = 0, shards = 1;  // every shards-th judged decision, starting with the shard-th
};
// Runs the episode and judges some of its decisions. Ignores the options' episode, nodes and seed.
std::vector<Label> judge_episode(const Episode& episode, const LabelOptions& options,
                                 const std::shared_ptr<const models::QNetwork>& network);
// Runs training episodes with `network` (with the planner if null) and judges some of its decisions.
std::vector<Label> collect_labels(const Dataset& data, const LabelOptions& options,
                                  const std::shared_ptr<const models::QNetwork>& network);

}  // namespace wattle::sim::consolidation
