// decide_bench: measures the cost of one decision, by part. Names and rows are cached from the previous decision, as in
// a controller. Absolute figures hold only for this machine and run.
#include <benchmark/benchmark.h>

#include <chrono>

#include "lab/benchmarks/decide_setting.hpp"

namespace wattle::placement {

namespace {

using bench::Setting;

void decision(benchmark::State& state, const char* policy) {
  Setting setting(static_cast<std::size_t>(state.range(0)), policy);
  for (auto _ : state) {
    PlacementDecision advice =
        decide(setting.view, setting.pod, setting.names, setting.mind(), setting.options, 0, setting.random);
    benchmark::DoNotOptimize(advice);
  }
}
BENCHMARK_CAPTURE(decision, dqn, "dqn")->Arg(100)->Arg(1000)->Arg(5000)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(decision, model_greedy, "model-greedy")->Arg(1000)->Unit(benchmark::kMicrosecond);

// Decides with the cluster model and a plan made beforehand, which the network sees, as in the controller.
void known(benchmark::State& state, const char* policy) {
  Setting setting(static_cast<std::size_t>(state.range(0)), policy);
  setting.policy->prepare(setting.cluster_model.fleet(setting.view));
  for (auto _ : state) {
    PlacementDecision advice =
        decide(setting.view, setting.pod, setting.names, setting.mind(true), setting.options, 0, setting.random);
    benchmark::DoNotOptimize(advice);
  }
}
BENCHMARK_CAPTURE(known, dqn, "dqn")->Arg(100)->Arg(1000)->Arg(5000)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(known, planner, "planner")->Arg(100)->Arg(1000)->Arg(5000)->Unit(benchmark::kMicrosecond);

// Decides on a subset of many nodes, as for kube-scheduler's sample of a large cluster. Between two asks, telemetry of
// 200 nodes arrives and other memory traffic evicts most of the cluster from the processor's caches.
void sample(benchmark::State& state, const char* policy) {
  Setting setting(static_cast<std::size_t>(state.range(0)), policy);
  setting.policy->prepare(setting.cluster_model.fleet(setting.view));
  std::vector<std::uint8_t> else_where(8 << 20);
  std::size_t at = 0;
  const auto count = static_cast<std::size_t>(state.range(1));
  for (auto _ : state) {
    for (std::size_t i = 0; i < 200; ++i) {
      const std::size_t row = at++ % setting.view.nodes.size();
      setting.view.edition_of[row] = ++setting.view.edition;
      NodeView& node = setting.view.nodes[row];
      node.values.cpu_used_cores = 0.5 * node.allocatable.cpu_cores;
    }
    for (std::size_t i = 0; i < else_where.size(); i += 64) ++else_where[i];
    const std::size_t from = at % (setting.names.size() - count + 1);
    const auto first = setting.names.begin() + static_cast<std::ptrdiff_t>(from);
    const std::vector<std::string> names(first, first + static_cast<std::ptrdiff_t>(count));
    const auto before = std::chrono::steady_clock::now();
    PlacementDecision advice =
        decide(setting.view, setting.pod, names, setting.mind(true), setting.options, 0, setting.random);
    state.SetIterationTime(std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count());
    benchmark::DoNotOptimize(advice);
  }
}
BENCHMARK_CAPTURE(sample, dqn, "dqn")
    ->Args({1000, 420})
    ->Args({5000, 100})
    ->Args({5000, 500})
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);

void rows(benchmark::State& state) {
  Setting setting(static_cast<std::size_t>(state.range(0)), "dqn");
  for (auto _ : state) benchmark::DoNotOptimize(setting.index.find(setting.view, setting.names));
}
BENCHMARK(rows)->Arg(1000)->Unit(benchmark::kMicrosecond);

void features(benchmark::State& state) {
  Setting setting(static_cast<std::size_t>(state.range(0)), "dqn");
  std::vector<std::size_t> all(setting.names.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  const std::vector<std::string_view> masked(all.size());
  for (auto _ : state) {
    const auto predictions = predict(setting.options.reward, setting.view, all, setting.pod, 0.2);
    benchmark::DoNotOptimize(observe(setting.view, all, setting.pod, masked, predictions, setting.options.reward));
  }
}
BENCHMARK(features)->Arg(1000)->Unit(benchmark::kMicrosecond);

void prediction(benchmark::State& state) {
  Setting setting(static_cast<std::size_t>(state.range(0)), "dqn");
  std::vector<std::size_t> all(setting.names.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  for (auto _ : state) benchmark::DoNotOptimize(predict(setting.options.reward, setting.view, all, setting.pod, 0.2));
}
BENCHMARK(prediction)->Arg(1000)->Unit(benchmark::kMicrosecond);

}  // namespace

}  // namespace wattle::placement
