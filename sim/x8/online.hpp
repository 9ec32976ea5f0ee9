// online: Double DQN from what one cluster really does under churn, decision after decision: no clones, no look at the future.
// Reward   of a decision: (mean watts so far - mean watts until the next decision) / (W0 x pods that run), so that the sum
//          over a pod's life is the energy it saved in W0; n steps, discount 1 - 1 / horizon
// Anchor   every anchor_every-th step is followed by one that draws the policy on the same states to the anchor's
// Errors   forwards the trainer's; out_of_range: not churn
// Threads  single owner; the same options give the same weights
#pragma once

#include <cstdint>
#include <memory>

#include "models/frozen/q_network.hpp"
#include "models/frozen/trainer.hpp"
#include "sim/x8/episode.hpp"

namespace wattle::sim::x8 {

struct OnlineOptions {
  Options episode;
  std::uint64_t first_seed = 1;
  std::uint64_t seed_step = 1;
  std::size_t episodes = 10;  // fleets, one after the other, or days of one fleet (episode.cluster_seed)
  bool plan = true;           // false: placement::NetworkOptions::plan
  double epsilon = 0.05;
  std::size_t n_step = 10, batch = 32, replay = 20'000, warmup = 500;
  double horizon = 200;                            // decisions
  std::shared_ptr<const models::QNetwork> anchor;  // none: no anchor
  double temperature = 0.15;
  std::uint64_t anchor_every = 1;  // steps
};

struct OnlineFigures {
  std::uint64_t decisions = 0, steps = 0;
  double loss = 0, mean_q = 0;  // running means
};

Result<OnlineFigures> learn_online(const Dataset& data, const OnlineOptions& options, models::PolicyTrainer& trainer);

}  // namespace wattle::sim::x8
