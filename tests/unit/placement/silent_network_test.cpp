// silent network: an untrained network decides as the planner does.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "placement/decide/decision_engine.hpp"
#include "tests/unit/placement/views.hpp"

namespace wattle::placement {
namespace {

struct Silent final : models::QNetwork {
  void residual(const models::Observation&, std::span<float> out) const override {
    std::fill(out.begin(), out.end(), 0.0F);
  }
  std::uint64_t step() const override { return 0; }
};

struct LivingPod {
  PodSpec pod;
  std::size_t row = 0;
  int ends = 0;
};

DecisionEngine engine_of(const std::string& policy, double margin = NetworkOptions{}.margin) {
  ClusterModelOptions known;
  known.idle_nodes_sleep = true;
  known.forecast.bucket_s = 120;
  known.forecast.least_buckets = 4;
  known.revise_every_s = 60;
  EngineOptions options;
  options.network.margin = margin;
  DecisionEngine engine(options, ClusterModel(known));
  REQUIRE(engine.set_policy(policy, RewardConfig{}));
  engine.cluster_model().pod_time().set_acting(true);
  return engine;
}

ClusterView unlike_nodes(std::mt19937_64& random) {
  ClusterView view;
  view.now += std::chrono::hours(1);
  for (int i = 0; i < 5; ++i) {
    NodeView node = testing::healthy_node("n" + std::to_string(i), 6 + static_cast<double>(random() % 5));
    const double idle_w = 30 + static_cast<double>(random() % 60), span_w = 50 + static_cast<double>(random() % 150);
    for (int k = 0; k < 100; ++k) node.curve.observe(0.05 * (k % 20), idle_w + span_w * 0.05 * (k % 20));
    node.wake_cost_j = 1000;
    view.nodes.push_back(node);
  }
  return view;
}

// Runs two engines in steps of half a minute on one cluster that follows the first. `check` gets both decisions.
// Latencies differ only by noise.
template <class Check>
void run_both(std::uint64_t seed, DecisionEngine& first, DecisionEngine& second, Check&& check) {
  std::mt19937_64 random(seed);
  ClusterView view = unlike_nodes(random);
  const Silent silent;
  std::vector<LivingPod> running;
  const std::vector<std::string> names = testing::names_of(view);
  for (int step = 0; step < 150; ++step) {
    view.now += std::chrono::seconds(30);
    const auto over = [step](const LivingPod& each) { return each.ends <= step; };
    for (const LivingPod& each : running) {
      if (!over(each)) continue;
      NodeView& node = view.nodes[each.row];
      --node.pods;
      node.requested.cpu_cores -= each.pod.request.cpu_cores;
      node.requested.memory_bytes -= each.pod.request.memory_bytes;
      for (DecisionEngine* engine : {&first, &second})
        engine->on_pod_ended(each.pod.uid, &each.pod, each.row, view.now);
    }
    std::erase_if(running, over);
    for (NodeView& node : view.nodes) {
      node.asleep = node.pods == 0;
      node.latency_ms["default"] = 9 + 0.01 * static_cast<double>(random() % 200);
    }
    PodSpec pod = testing::small_pod();
    pod.uid = "pod-" + std::to_string(step);
    pod.app = "app-" + std::to_string(random() % 3);
    pod.request.cpu_cores = 1;
    const std::uint64_t draw = random();
    std::vector<PlacementDecision> decisions;
    for (DecisionEngine* engine : {&first, &second}) {
      engine->refresh(view);
      std::mt19937_64 ties(draw);
      const PodSpec expected = engine->expected(pod);
      decisions.push_back(engine->decide({.view = view,
                                          .pod = expected,
                                          .candidates = names,
                                          .network = &silent,
                                          .turn = static_cast<std::uint64_t>(step),
                                          .random = ties}));
    }
    check(decisions[0], decisions[1]);
    if (!decisions[0].top) continue;
    const std::size_t row = *decisions[0].top;  // all nodes were candidates, in order
    NodeView& node = view.nodes[row];
    ++node.pods;
    node.requested.cpu_cores += pod.request.cpu_cores;
    node.requested.memory_bytes += pod.request.memory_bytes;
    const double cores = 0.2 + 0.2 * static_cast<double>(random() % 4);
    for (DecisionEngine* engine : {&first, &second}) {
      const std::vector<PodReading> readings{{engine->on_pod_started(pod, names[row], row, view.now), cores}};
      engine->on_usage(readings, 30);
    }
    running.push_back({pod, row, step + 1 + static_cast<int>(random() % 40)});
  }
}

TEST_CASE("a network with zero output decides as the planner at any margin, whatever the noise of latencies") {
  for (const double margin : {0.0, 0.02, NetworkOptions{}.margin}) {
    std::uint64_t placed = 0, runs = 0;
    CHECK(rc::check([&](std::uint64_t seed) {
      ++runs;
      DecisionEngine planner = engine_of("planner"), network = engine_of("dqn", margin);
      run_both(seed, planner, network, [&](const PlacementDecision& one, const PlacementDecision& other) {
        RC_ASSERT(one.top == other.top);
        if (one.top) ++placed;
      });
    }));
    CHECK(placed > 100 * runs);
  }
}

}  // namespace
}  // namespace wattle::placement
