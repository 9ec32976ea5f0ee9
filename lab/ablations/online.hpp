// online: runs the controller's learner on clusters under churn, day after day: placement/learn/learner on a World's
// reports, with the live outcome window, without the truth.
// Reward   the energy term alone (docs/reference/rewards.md), from the watts that agents reported in the outcome window
// Decides  the controller's engine, policy dqn; it keeps its cluster model from one day to the next
// Anchor   after every anchor_every-th step, another step draws the policy on the same states to the anchor's
// Errors   forwards the trainer's; out_of_range: not churn, or not production knowledge
// Threads  single owner; the same options give the same weights
#pragma once

#include <cstdint>
#include <memory>

#include "models/frozen/q_network.hpp"
#include "models/frozen/trainer.hpp"
#include "placement/learn/learner.hpp"
#include "sim/scenarios/consolidation.hpp"

namespace wattle::sim::consolidation {

struct OnlineOptions {
  Options episode;
  std::uint64_t first_seed = 1;
  std::uint64_t seed_step = 1;
  std::size_t episodes = 10;  // fleets in sequence, or days of one fleet (episode.cluster_seed)
  double epsilon = 0.05;
  placement::LearnerOptions learner;               // as in a controller except for the seed, which is the first fleet's
  std::uint64_t refresh_every = 25;                // steps between frozen networks
  std::shared_ptr<const models::QNetwork> anchor;  // null: no anchor
  double temperature = 0.15;
  std::uint64_t anchor_every = 1;  // steps
};

Result<placement::LearnerFigures> learn_online(const Dataset& data, const OnlineOptions& options,
                                               models::PolicyTrainer& trainer);

}  // namespace wattle::sim::consolidation
