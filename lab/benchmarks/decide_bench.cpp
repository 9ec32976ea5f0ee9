// decide_bench: measures the cost of one decision, by part. Names and rows are cached from the previous decision, as in
// a controller. Absolute figures hold only for this machine and run.
#include <benchmark/benchmark.h>

#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "models/frozen/frozen_network.hpp"
#include "models/frozen/layout.hpp"
#include "placement/cluster/cluster_model.hpp"
#include "placement/decide/decide.hpp"
#include "placement/decide/policies/registry.hpp"
#include "tests/unit/placement/views.hpp"

namespace wattle::placement {

namespace {

// A partly used cluster of a given size, and the policy that decides on it.
struct Setting {
  ClusterView view;
  std::vector<std::string> names;
  PodSpec pod = testing::small_pod();
  std::shared_ptr<const models::FrozenNetwork> network;
  std::unique_ptr<Policy> policy;
  RowIndex index;
  FactsOfNodes facts;
  ClusterModel cluster_model;
  std::mt19937_64 random{1};
  DecideOptions options;

  Setting(std::size_t nodes, const char* name) {
    std::mt19937_64 draw(3);
    std::uniform_real_distribution<double> unit(0, 1);
    for (std::size_t i = 0; i < nodes; ++i) {
      NodeView node = testing::healthy_node("node-" + std::to_string(i), 8 + 8 * static_cast<double>(i % 8));
      node.values.cpu_used_cores = unit(draw) * node.allocatable.cpu_cores;
      node.requested.cpu_cores = unit(draw) * 0.8 * node.allocatable.cpu_cores;
      node.pods = static_cast<std::uint64_t>(unit(draw) * 40);
      node.latency_ms["default"] = 10 * unit(draw);
      view.nodes.push_back(node);
      names.push_back(node.name);
    }
    models::Weights weights = models::initial_weights(1);
    for (auto& [tensor, values] : weights)
      for (float& value : values.values) value += 0.01F;
    network = *models::FrozenNetwork::from_weights(weights, 1, "bench");
    policy = std::move(*make_policy(name));
    view.edition_of.assign(view.nodes.size(), ++view.edition);
    cluster_model.refresh(view);
  }
  PolicyInputs mind(bool known = false) {
    PolicyInputs inputs{*policy, network.get(), known ? &cluster_model : nullptr, &index};
    inputs.facts = &facts;
    return inputs;
  }
};

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

// Decides as a live controller does on a cluster of its own: the rule ranks, waiting has a price, names come in any
// order, the telemetry of 2% of the nodes is new, and other memory traffic evicted the cluster from the near caches.
void live(benchmark::State& state) {
  Setting setting(static_cast<std::size_t>(state.range(0)), "dqn");
  setting.policy->prepare(setting.cluster_model.fleet(setting.view));
  const auto floor = *make_policy("node-order-costs");
  std::vector<std::uint8_t> other_memory(4 << 20);
  std::size_t at = 0;
  for (auto _ : state) {
    for (std::size_t i = 0; i < setting.names.size() / 50; ++i) {
      const std::size_t row = at++ % setting.view.nodes.size();
      setting.view.edition_of[row] = ++setting.view.edition;
      setting.view.nodes[row].values.cpu_used_cores = 0.5 * setting.view.nodes[row].allocatable.cpu_cores;
    }
    for (std::size_t i = 0; i < other_memory.size(); i += 64) ++other_memory[i];
    const auto before = std::chrono::steady_clock::now();
    PolicyInputs mind = setting.mind(true);
    mind.network = nullptr;
    mind.chooser = floor.get();
    PlacementDecision advice =
        decide(setting.view, setting.pod, setting.names, mind, setting.options, 0, setting.random);
    state.SetIterationTime(std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count());
    benchmark::DoNotOptimize(advice);
  }
}
BENCHMARK(live)->Arg(100)->Arg(1000)->Arg(5000)->UseManualTime()->Unit(benchmark::kMicrosecond);

// Decides on a subset of many nodes, as for kube-scheduler's sample of a large cluster. Between two asks, telemetry of
// 200 nodes arrives and other memory traffic evicts most of the cluster from the processor's caches.
void sample(benchmark::State& state, const char* policy) {
  Setting setting(static_cast<std::size_t>(state.range(0)), policy);
  setting.policy->prepare(setting.cluster_model.fleet(setting.view));
  std::vector<std::uint8_t> other_memory(8 << 20);
  std::size_t at = 0;
  const auto count = static_cast<std::size_t>(state.range(1));
  for (auto _ : state) {
    for (std::size_t i = 0; i < 200; ++i) {
      const std::size_t row = at++ % setting.view.nodes.size();
      setting.view.edition_of[row] = ++setting.view.edition;
      NodeView& node = setting.view.nodes[row];
      node.values.cpu_used_cores = 0.5 * node.allocatable.cpu_cores;
    }
    for (std::size_t i = 0; i < other_memory.size(); i += 64) ++other_memory[i];
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
