// A world in which every sequence of placements can be enumerated: the trained policy must find the best one.
#include <doctest/doctest.h>

#include "models/frozen/frozen_network.hpp"
#include "models/torch/torch_trainer.hpp"
#include "sim/env/train.hpp"

using namespace wattle;
using namespace wattle::sim;

namespace {

constexpr std::size_t kPods = 8;

EnvOptions tiny() {
  EnvOptions options;
  options.scenario = find_scenario("thesis_test2").value();
  options.scenario.nodes = 2;
  options.scenario.placements = kPods;
  options.scenario.window = 3;
  options.cluster_seed = 1;
  options.reward.preset = placement::Preset::lb;
  options.reward.with_prior = false;  // the untrained network has no information
  return options;
}

double total(Env& env, std::uint64_t seed, std::size_t sequence) {
  EnvStep step = env.reset(seed);
  double sum = step.reward;
  for (std::size_t i = 0; !step.done; ++i) {
    step = env.step((sequence >> i) & 1U).value();
    sum += step.reward;
  }
  return sum;
}

double greedy(Env& env, std::uint64_t seed, const models::QNetwork& network) {
  EnvStep step = env.reset(seed);
  double sum = step.reward;
  while (!step.done) {
    std::vector<float> out(step.observation.nodes, 0.0F);
    network.residual(step.observation, out);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] += step.observation.prior[i];
    step = env.step(out[1] > out[0] ? 1 : 0).value();
    sum += step.reward;
  }
  return sum;
}

}  // namespace

TEST_CASE("in an enumerable world the trained policy reaches the optimum, and the untrained one does not") {
  TrainOptions options;
  options.env = tiny();
  options.decisions = 1500;
  options.epsilon_first = 0.5;
  options.learner.n_step = 1;
  options.learner.warmup = 64;
  options.learner.tau_s = 20;
  options.learner.reward_scale = 0.1;
  options.learner.reward_centre = 5;
  models::TrainerOptions trainer_options;
  trainer_options.seed = 1;
  const auto trainer = models::make_torch_trainer(trainer_options).value();
  const auto untrained = models::FrozenNetwork::from_weights(trainer->weights(), 0).value();
  const TrainResult result = train(options, *trainer).value();
  const auto trained = models::FrozenNetwork::from_weights(result.weights, trainer->steps()).value();
  Env env(tiny());
  double reached = 0, best = 0, before = 0;
  for (const std::uint64_t seed : seeds_from(kFirstHeldOutSeed, 3)) {
    double most = -1e9;
    for (std::size_t sequence = 0; sequence < (std::size_t{1} << kPods); ++sequence)
      most = std::max(most, total(env, seed, sequence));
    best += most;
    reached += greedy(env, seed, *trained);
    before += greedy(env, seed, *untrained);
  }
  CHECK(best == 3 * 10.0 * kPods);  // the least loaded node each time
  CHECK(reached == best);
  CHECK(before < best);
}
