// models_bench: measures the time to score a decision, and gradient steps per second.
// Run      build/release/bin/models_bench --benchmark_repetitions=7 --benchmark_report_aggregates_only=true
// Units    microseconds per decision; items_per_second: nodes scored, or gradient steps
// Threads  one
#include <benchmark/benchmark.h>

#include <random>

#include "models/frozen/deepsets.hpp"
#include "models/frozen/frozen_network.hpp"
#include "models/frozen/layout.hpp"
#ifdef WATTLE_TORCH
#include "models/torch/torch_trainer.hpp"
#endif

namespace wattle::models {

namespace {

Observation observation(std::mt19937_64& random, std::size_t nodes) {
  std::uniform_real_distribution<float> uniform(-1, 1);
  Observation o;
  o.nodes = nodes;
  for (std::size_t i = 0; i < nodes * kNodeFeatures; ++i) o.node.push_back(uniform(random));
  for (float& v : o.pod) v = uniform(random);
  for (float& v : o.context) v = uniform(random);
  for (std::size_t i = 0; i < nodes; ++i) o.prior.push_back(uniform(random));
  o.valid.assign(nodes, 1);
  return o;
}

void score(benchmark::State& state, const Kernels& kernels) {
  std::mt19937_64 random(1);
  const Observation o = observation(random, static_cast<std::size_t>(state.range(0)));
  const auto flat = flatten(initial_weights(1), "bench");
  std::vector<float> out(o.nodes);
  for (auto _ : state) {
    evaluate(kernels, *flat, o, out);
    benchmark::DoNotOptimize(out.data());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK_CAPTURE(score, best, best_kernels())->Arg(8)->Arg(100)->Arg(1000)->Arg(5000)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(score, baseline, baseline_kernels())->Arg(1000)->Unit(benchmark::kMicrosecond);

#ifdef WATTLE_TORCH
// Arguments: batch size, nodes per observation.
void trainer_step(benchmark::State& state) {
  std::mt19937_64 random(2);
  std::vector<Transition> replay;
  for (int i = 0; i < 1024; ++i) {
    Transition t;
    t.state = observation(random, static_cast<std::size_t>(state.range(1)));
    t.next = observation(random, static_cast<std::size_t>(state.range(1)));
    t.action = static_cast<std::uint32_t>(random() % t.state.nodes);
    t.reward = t.state.node[0];
    t.discount = 0.9F;
    replay.push_back(std::move(t));
  }
  auto trainer = make_torch_trainer(TrainerOptions{});
  if (!trainer) return state.SkipWithError(trainer.error().message().c_str());
  std::vector<const Transition*> batch(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) {
    for (const Transition*& t : batch) t = &replay[random() % replay.size()];
    if (auto stats = (*trainer)->step(batch); !stats) return state.SkipWithError(stats.error().message().c_str());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(trainer_step)->Args({64, 8})->Args({64, 32})->Unit(benchmark::kMicrosecond);
#endif

}  // namespace

}  // namespace wattle::models
