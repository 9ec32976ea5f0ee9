// The prior of each preset: the node with the best reward of the preset is first from day one, and also for experience
// that is rejudged from its features.
#include "placement/worth/prior.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "placement/decide/decide.hpp"
#include "placement/decide/policies/registry.hpp"
#include "placement/worth/outcome.hpp"
#include "tests/unit/placement/preset_fleet.hpp"

namespace wattle::placement {
namespace {

using testing::best_by_reward;
using testing::healthy_node;
using testing::kPresets;
using testing::names_of;
using testing::plain_fleet;
using testing::plain_pod;
using testing::reward_of;

models::Observation seen_by(const RewardConfig& reward, const ClusterView& view, const PodSpec& pod) {
  return observe(view, pod, std::vector<std::string_view>(view.nodes.size()), reward);
}

std::size_t first_of(const std::vector<float>& prior) {
  return static_cast<std::size_t>(std::max_element(prior.begin(), prior.end()) - prior.begin());
}

TEST_CASE("without a network the node with the best reward of the preset wins by that preset's prior") {
  const ClusterView view = plain_fleet();
  for (const Preset preset : kPresets) {
    const RewardConfig reward = reward_of(preset);
    CAPTURE(to_string(preset));
    DecideOptions options;
    options.reward = reward;
    std::mt19937_64 random(1);
    const auto policy = make_policy("dqn").value();
    const PlacementDecision advice = decide(view, plain_pod(), names_of(view), {*policy}, options, 0, random);
    REQUIRE(advice.top);
    CHECK(advice.record.advice == best_by_reward(reward, view, plain_pod()));
    CHECK(advice.record.decided_by == "fallback");
    CHECK(advice.record.reason.find(preset == Preset::weighted
                                        ? "highest predicted reward"
                                        : "for " + std::string(to_string(preset))) != std::string::npos);
    CHECK(advice.scores[*advice.top] == 10);
  }
}

TEST_CASE("no node is ranked above one with a higher ee, lb or lc reward") {
  CHECK(rc::check([] {
    ClusterView view;
    const std::size_t count = *rc::gen::inRange<std::size_t>(2, 12);
    for (std::size_t i = 0; i < count; ++i) {
      view.nodes.push_back(healthy_node("n" + std::to_string(i), static_cast<double>(*rc::gen::inRange(4, 64))));
      view.nodes.back().pods = *rc::gen::inRange<std::uint64_t>(0, 60);
      view.nodes.back().values.tcp_established = *rc::gen::inRange<std::uint64_t>(0, 500);
      view.nodes.back().values.cpu_used_cores =
          0.01 * *rc::gen::inRange(0, 100) * view.nodes.back().allocatable.cpu_cores;
    }
    RewardConfig reward;
    reward.preset = *rc::gen::element(Preset::ee, Preset::lb, Preset::lc);
    reward.load = *rc::gen::element(LoadKind::pods, LoadKind::cpu, LoadKind::memory, LoadKind::disk);
    const std::vector<float> prior = seen_by(reward, view, plain_pod()).prior;
    for (std::size_t a = 0; a < count; ++a)
      for (std::size_t b = 0; b < count; ++b)
        if (evaluate(reward, begin_outcome(view, plain_pod(), a, reward)).value >
            evaluate(reward, begin_outcome(view, plain_pod(), b, reward)).value)
          RC_ASSERT(prior[a] > prior[b]);
  }));
}

TEST_CASE("el-rl rewards latency before it rewards fewer nodes") {
  CHECK(rc::check([] {
    ClusterView view;
    const std::size_t count = *rc::gen::inRange<std::size_t>(2, 12);
    for (std::size_t i = 0; i < count; ++i) {
      view.nodes.push_back(healthy_node("n" + std::to_string(i)));
      view.nodes.back().pods = *rc::gen::inRange<std::uint64_t>(0, 110);
      view.nodes.back().latency_ms["default"] = *rc::gen::element(5.0, 25.0);
    }
    const std::vector<float> prior = seen_by(reward_of(Preset::el_rl), view, plain_pod()).prior;
    for (std::size_t a = 0; a < count; ++a)
      for (std::size_t b = 0; b < count; ++b)
        if (view.nodes[a].latency_ms["default"] < view.nodes[b].latency_ms["default"]) RC_ASSERT(prior[a] > prior[b]);
  }));
}

TEST_CASE("drs predicts the deviations with the pod on the node, in percentage points") {
  ClusterView view;
  for (const char* name : {"a", "b"}) view.nodes.push_back(healthy_node(name, 10));
  view.nodes[0].values.cpu_used_cores = 4;  // 40% and 20% of CPU, equal memory
  view.nodes[1].values.cpu_used_cores = 2;
  PodSpec pod = plain_pod();
  pod.request = {4, 0};  // half of it is used: 20 points
  const std::vector<float> prior = seen_by(reward_of(Preset::drs), view, pod).prior;
  CHECK(prior[0] == doctest::Approx(-20));  // 60 and 20
  CHECK(prior[1] == doctest::Approx(0));    // 40 and 40
}

TEST_CASE("power predicts the watts of the whole node with the pod") {
  ClusterView view;
  for (const char* name : {"a", "b"}) view.nodes.push_back(healthy_node(name, 10));
  view.nodes[0].curve = PowerCurve::known({100, 110, 120, 130, 140, 150, 160, 170, 180, 190, 200});
  view.nodes[1].curve = PowerCurve::known({40, 60, 80, 100, 120, 140, 160, 180, 200, 220, 240});
  for (NodeView& node : view.nodes) node.values.cpu_used_cores = 1;
  PodSpec pod = plain_pod();
  pod.request = {2, 0};  // one core of ten
  const std::vector<float> prior = seen_by(reward_of(Preset::power), view, pod).prior;
  CHECK(prior[0] == doctest::Approx(-120));
  CHECK(prior[1] == doctest::Approx(-80));
}

TEST_CASE("an expression gets every predicted term") {
  const ClusterView view = plain_fleet();
  for (const char* text : {"packing", "active_nodes", "-contention", "balance", "latency", "energy"}) {
    CAPTURE(text);
    RewardConfig reward = reward_of(Preset::expression);
    reward.formula = Formula::compile(text).value();
    const std::vector<float> prior = seen_by(reward, view, plain_pod()).prior;
    CHECK(std::any_of(prior.begin(), prior.end(), [&](float each) { return each != prior[0]; }));
  }
}

TEST_CASE("a reward without a prior gives 0 to every node, under every preset") {
  for (const Preset preset : kPresets) {
    CAPTURE(to_string(preset));
    RewardConfig reward = reward_of(preset);
    reward.with_prior = false;
    for (const float each : seen_by(reward, plain_fleet(), plain_pod()).prior) CHECK(each == 0);
  }
}

TEST_CASE("experience of another preset is rejudged from its features: the same node is first") {
  const ClusterView view = plain_fleet();
  for (const Preset from : kPresets)
    for (const Preset to : kPresets) {
      CAPTURE(to_string(from));
      CAPTURE(to_string(to));
      models::Observation seen = seen_by(reward_of(from), view, plain_pod());
      relabel(seen, reward_of(to));
      const models::Observation direct = seen_by(reward_of(to), view, plain_pod());
      CHECK(first_of(seen.prior) == first_of(direct.prior));
      for (std::size_t row = 0; row < seen.nodes; ++row)
        CHECK(seen.prior[row] == doctest::Approx(direct.prior[row]).epsilon(0.05));
    }
}

TEST_CASE("every prior is finite for any telemetry") {
  CHECK(rc::check([] {
    const ClusterView view = testing::random_view(*rc::gen::arbitrary<std::uint64_t>(), 8);
    const RewardConfig reward = reward_of(kPresets[*rc::gen::inRange<std::size_t>(0, kPresets.size())]);
    models::Observation seen = seen_by(reward, view, plain_pod());
    for (const float each : seen.prior) RC_ASSERT(std::isfinite(each));
    relabel(seen, reward);
    for (const float each : seen.prior) RC_ASSERT(std::isfinite(each));
  }));
}

}  // namespace
}  // namespace wattle::placement
