// online: what the controller's learner learns of clusters under churn, day after day: placement/learner on what a World tells, by the
// outcome window that runs live, nothing of the truth.
// Reward   the energy term alone (docs/reference/rewards.md), of the watts that agents told of in the outcome window
// Decides  the controller's engine, policy dqn; it goes on knowing its cluster from one day to the next
// Anchor   every anchor_every-th step is followed by one that draws the policy on the same states to the anchor's
// Errors   forwards the trainer's; out_of_range: not churn, or not production knowledge
// Threads  single owner; the same options give the same weights
#pragma once

#include <cstdint>
#include <memory>

#include "models/frozen/q_network.hpp"
#include "models/frozen/trainer.hpp"
#include "placement/learner.hpp"
#include "sim/scenarios/consolidation.hpp"

namespace wattle::sim::consolidation {

struct OnlineOptions {
  Options episode;
  std::uint64_t first_seed = 1;
  std::uint64_t seed_step = 1;
  std::size_t episodes = 10;  // fleets, one after the other, or days of one fleet (episode.cluster_seed)
  bool plan = true;           // false: placement::NetworkOptions::plan
  double epsilon = 0.05;
  placement::LearnerOptions learner;               // a controller's but for the seed, which is the first fleet's
  std::uint64_t refresh_every = 25;                // steps between frozen networks
  std::shared_ptr<const models::QNetwork> anchor;  // none: no anchor
  double temperature = 0.15;
  std::uint64_t anchor_every = 1;  // steps
};

Result<placement::LearnerFigures> learn_online(const Dataset& data, const OnlineOptions& options,
                                               models::PolicyTrainer& trainer);

}  // namespace wattle::sim::consolidation
