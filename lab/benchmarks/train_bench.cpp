// train_bench: times the training loop of `wattle-sim train`. lab/benchmarks/cleanrl.py runs it in turn with a peer's
// loop.
// Run      train_bench SCENARIO NODES DECISIONS BATCH EVERY WARMUP GRADIENT_STEPS: a gradient step of BATCH transitions
//          each EVERY decisions, after WARMUP
// Gives    one line of JSON: decisions (environment steps) of the whole loop, and gradient steps alone, each with its
//          CPU and wall seconds. A gradient step covers sampling the batch from replay, targets, backward, Adam and
//          Polyak
// Threads  one
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

#include "models/torch/torch_trainer.hpp"
#include "sim/env/train.hpp"

namespace wattle::sim {

namespace {

struct Spent {
  double cpu_s = 0, wall_s = 0;
};
Spent now() {
  const auto wall = std::chrono::steady_clock::now().time_since_epoch();
  return {static_cast<double>(std::clock()) / CLOCKS_PER_SEC, std::chrono::duration<double>(wall).count()};
}
std::string since(const Spent& begun, const std::string& prefix) {
  const Spent at = now();
  return "\"" + prefix + "cpu_s\": " + std::to_string(at.cpu_s - begun.cpu_s) + ", \"" + prefix +
         "wall_s\": " + std::to_string(at.wall_s - begun.wall_s);
}

// Fills the replay with transitions of real episodes, always placing on the first free node.
Status fill(Env& env, placement::Learner& learner, std::size_t wanted) {
  std::uint64_t id = 0;
  for (std::uint64_t seed = 1; id < wanted; ++seed) {
    EnvStep step = env.reset(seed);
    while (!step.done && id < wanted) {
      std::uint32_t action = 0;
      while (step.observation.valid[action] == 0) ++action;
      learner.placed(++id, step.observation, action, env.world().now() + from_seconds(1e6 * static_cast<double>(seed)));
      WATTLE_CHECK(learner.settled(id, {}));
      WATTLE_TRY(step, env.step(action));
    }
  }
  return {};
}

Status run(char** words) {
  const auto number = [&](int word) { return std::strtoull(words[word], nullptr, 10); };
  TrainOptions options;
  WATTLE_TRY(options.env.scenario, find_scenario(words[1]));
  options.env.scenario.nodes = number(2);
  options.decisions = number(3);
  options.learner.batch = number(4);
  options.decisions_per_step = number(5);
  options.learner.warmup = number(6);
  options.learner.replay_capacity = 10'000;
  options.learner.n_step = 1;
  const std::size_t gradient_steps = number(7);
  WATTLE_TRY(const auto trainer, models::make_torch_trainer(models::TrainerOptions{}));
  const Spent begun = now();
  WATTLE_CHECK(train(options, *trainer));
  const std::string loop = since(begun, "");
  Env env(options.env);
  placement::Learner learner(options.learner, options.env.reward, *trainer);
  WATTLE_CHECK(fill(env, learner, 2 * options.learner.warmup));
  for (int i = 0; i < 20; ++i) WATTLE_CHECK(learner.step());
  const Spent before = now();
  for (std::size_t i = 0; i < gradient_steps; ++i) WATTLE_CHECK(learner.step());
  std::printf("{\"steps\": %s, %s, \"gradient_steps\": %zu, %s}\n", words[3], loop.c_str(), gradient_steps,
              since(before, "gradient_").c_str());
  return {};
}

}  // namespace

}  // namespace wattle::sim

int main(int argc, char** argv) {
  if (argc != 8) return 2;
  const wattle::Status done = wattle::sim::run(argv);
  if (done) return 0;
  std::fprintf(stderr, "train_bench: %s\n", done.error().message().c_str());
  return 1;
}
