// train_bench: times the training loop of `wattle-sim train`. lab/benchmarks/cleanrl.py runs it in turn with a peer's
// loop.
// Run      train_bench --scenario churn_sleep --nodes 6 --decisions 20000 --batch 128 --every 10 --gradient-steps 1000
// Gives    one line of JSON: decisions (environment steps) of the whole loop, and gradient steps alone, each with its
//          CPU and wall seconds. A gradient step covers sampling the batch from replay, targets, backward, Adam and
//          Polyak
// Threads  one
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>

#include "models/torch/torch_trainer.hpp"
#include "sim/env/train.hpp"

namespace wattle::sim {

namespace {

struct Arguments {
  std::string scenario = "churn_sleep";
  std::size_t nodes = 6;
  std::uint64_t decisions = 20'000, every = 10;
  std::size_t batch = 128, replay = 10'000, warmup = 1000, gradient_steps = 1000;
  std::uint64_t seed = 1;
};

struct Spent {
  double cpu_s = 0, wall_s = 0;
};
Spent now() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto s = [](const timeval& t) { return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec); };
  const auto wall = std::chrono::steady_clock::now().time_since_epoch();
  return {s(usage.ru_utime) + s(usage.ru_stime), std::chrono::duration<double>(wall).count()};
}
Spent since(const Spent& begun) {
  const Spent at = now();
  return {at.cpu_s - begun.cpu_s, at.wall_s - begun.wall_s};
}

placement::LearnerOptions learner_options(const Arguments& arguments) {
  placement::LearnerOptions options;
  options.batch = arguments.batch;
  options.warmup = arguments.warmup;
  options.replay_capacity = arguments.replay;
  options.n_step = 1;
  return options;
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
      WATTLE_TRY(auto reward, learner.settled(id, {}));
      static_cast<void>(reward);
      WATTLE_TRY(step, env.step(action));
    }
  }
  return {};
}

Status run(const Arguments& arguments) {
  TrainOptions options;
  WATTLE_TRY(options.env.scenario, find_scenario(arguments.scenario));
  options.env.scenario.nodes = arguments.nodes;
  options.seed = arguments.seed;
  options.decisions = arguments.decisions;
  options.decisions_per_step = arguments.every;
  options.learner = learner_options(arguments);

  WATTLE_TRY(const auto trainer, models::make_torch_trainer(models::TrainerOptions{}));
  const Spent begun = now();
  WATTLE_TRY(const TrainResult result, train(options, *trainer));
  const Spent loop = since(begun);

  Env env(options.env);
  placement::Learner learner(learner_options(arguments), options.env.reward, *trainer);
  WATTLE_CHECK(fill(env, learner, 2 * arguments.warmup));
  for (int i = 0; i < 20; ++i) WATTLE_CHECK(learner.step());
  const Spent before = now();
  for (std::size_t i = 0; i < arguments.gradient_steps; ++i) WATTLE_CHECK(learner.step());
  const Spent gradient = since(before);
  std::printf(
      "{\"steps\": %llu, \"cpu_s\": %.6f, \"wall_s\": %.6f, \"steps_of_gradient\": %llu, \"gradient_steps\": %zu, "
      "\"gradient_cpu_s\": %.6f, \"gradient_wall_s\": %.6f}\n",
      static_cast<unsigned long long>(result.last.decisions), loop.cpu_s, loop.wall_s,
      static_cast<unsigned long long>(result.last.learner.steps), arguments.gradient_steps, gradient.cpu_s,
      gradient.wall_s);
  return {};
}

}  // namespace

int main_of(int argc, char** argv) {
  Arguments arguments;
  CLI::App app{"Environment steps and gradient steps of the training loop", "train_bench"};
  app.add_option("--scenario", arguments.scenario, "see wattle-sim scenarios");
  app.add_option("--nodes", arguments.nodes, "of the cluster")->check(CLI::Range(1, 5000));
  app.add_option("--decisions", arguments.decisions, "of the loop");
  app.add_option("--every", arguments.every, "decisions between gradient steps")->check(CLI::PositiveNumber);
  app.add_option("--batch", arguments.batch, "transitions")->check(CLI::PositiveNumber);
  app.add_option("--replay", arguments.replay, "transitions that are kept")->check(CLI::PositiveNumber);
  app.add_option("--warmup", arguments.warmup, "transitions before the first step");
  app.add_option("--gradient-steps", arguments.gradient_steps, "timed alone")->check(CLI::PositiveNumber);
  app.add_option("--seed", arguments.seed, "of the first episode");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const Status done = run(arguments);
  if (done) return 0;
  std::fprintf(stderr, "train_bench: %s\n", done.error().message().c_str());
  return 1;
}

}  // namespace wattle::sim

int main(int argc, char** argv) { return wattle::sim::main_of(argc, argv); }
