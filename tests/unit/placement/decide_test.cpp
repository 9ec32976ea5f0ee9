// decide: what advice never does, whatever the cluster looks like.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "placement/board.hpp"
#include "placement/decide.hpp"
#include "placement/explain.hpp"
#include "tests/unit/placement/views.hpp"

namespace wattle::placement {
namespace {

using testing::healthy_node;
using testing::names_of;
using testing::random_view;
using testing::small_pod;

constexpr std::array<Policy, 6> kAll = {
    Policy::dqn,         Policy::model_greedy, Policy::least_allocated, Policy::most_allocated,
    Policy::round_robin, Policy::random};

ClusterView fleet(std::size_t count) {
  ClusterView view;
  for (std::size_t i = 0; i < count; ++i)
    view.nodes.push_back(healthy_node("n" + std::to_string(i), 8 + 4 * static_cast<double>(i % 5)));
  return view;
}

TEST_CASE("a masked node never gets a score while unknown ones get 0, under every policy") {
  CHECK(rc::check([] {
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    const ClusterView view = random_view(seed, *rc::gen::inRange<std::size_t>(0, 12));
    PodSpec pod = small_pod();
    if (*rc::gen::arbitrary<bool>()) pod.latency_hard_ms = 30;
    std::vector<std::string> candidates = names_of(view);
    candidates.insert(candidates.begin(), "stranger");
    DecideOptions options;
    options.policy = kAll[*rc::gen::inRange<std::size_t>(0, kAll.size())];
    options.epsilon = 0.3;
    const testing::MixtureNetwork network;
    std::mt19937_64 random(seed);
    const Advice advice = decide(view, pod, candidates, &network, options, seed, random);
    RC_ASSERT(advice.scores.size() == candidates.size());
    RC_ASSERT(advice.record.candidates.size() == candidates.size());
    RC_ASSERT(advice.scores[0] == 0);
    RC_ASSERT(advice.record.candidates[0].masked == "unknown node");
    bool feasible = false;
    for (std::size_t i = 0; i < view.nodes.size(); ++i) {
      const std::string reason = mask_reason(view.nodes[i], pod, options.mask);
      RC_ASSERT(advice.record.candidates[i + 1].masked == reason);
      if (reason.empty()) feasible = true;
      if (!reason.empty()) RC_ASSERT(advice.scores[i + 1] == 0);
      if (pod.latency_hard_ms && advice.scores[i + 1] > 0) {
        RC_ASSERT(latency_for(view.nodes[i], pod).has_value());
        RC_ASSERT(*latency_for(view.nodes[i], pod) <= *pod.latency_hard_ms);
      }
    }
    RC_ASSERT(advice.top.has_value() == feasible);
    if (feasible) {
      RC_ASSERT(advice.scores[*advice.top] == 10);
      RC_ASSERT(advice.record.propensity > 0);
      RC_ASSERT(std::count(advice.scores.begin(), advice.scores.end(), 10) == 1);
    } else {
      RC_ASSERT(!advice.record.reason.empty());
      RC_ASSERT(advice.record.advice.empty());
    }
  }));
}

TEST_CASE("permuting the candidates permutes the scores") {
  CHECK(rc::check([] {
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    const ClusterView view = random_view(seed, 9);
    std::vector<std::string> candidates = names_of(view);
    const testing::MixtureNetwork network;
    std::mt19937_64 random(seed);
    const Advice first = decide(view, small_pod(), candidates, &network, {}, 0, random);
    std::map<std::string, std::pair<std::int64_t, double>> by_name;
    std::set<double> distinct;
    std::size_t feasible = 0;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const wire::Candidate& entry = first.record.candidates[i];
      by_name[candidates[i]] = {first.scores[i], entry.q};
      if (!entry.masked.empty()) continue;
      ++feasible;
      distinct.insert(std::round(entry.q * 1e4));
    }
    if (distinct.size() < feasible) return;  // ties are the generator's
    ClusterView turned = view;
    std::shuffle(turned.nodes.begin(), turned.nodes.end(), random);
    std::shuffle(candidates.begin(), candidates.end(), random);
    const Advice second = decide(turned, small_pod(), candidates, &network, {}, 0, random);
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const auto& [score, q] = by_name[candidates[i]];
      RC_ASSERT(std::abs(second.record.candidates[i].q - q) < 1e-4);
      RC_ASSERT(std::abs(second.scores[i] - score) <= (score == 10 ? 0 : 1));
    }
  }));
}

TEST_CASE("no candidates, only unknown ones, and all masked are neutral and say why") {
  std::mt19937_64 random(1);
  ClusterView view = fleet(2);
  CHECK(decide(view, small_pod(), {}, nullptr, {}, 0, random).record.reason == "no candidates");
  const Advice unknown = decide(view, small_pod(), {"x", "y"}, nullptr, {}, 0, random);
  CHECK(unknown.scores == std::vector<std::int64_t>{0, 0});
  CHECK(unknown.record.reason == "no candidate is a known node");
  for (NodeView& node : view.nodes) node.ready = false;
  const Advice masked = decide(view, small_pod(), names_of(view), nullptr, {}, 0, random);
  CHECK(masked.record.reason == "no candidate is feasible: not ready");
  CHECK_FALSE(masked.top.has_value());
  const Advice one = decide(fleet(1), small_pod(), {"n0"}, nullptr, {}, 0, random);
  CHECK(one.scores == std::vector<std::int64_t>{10});
  CHECK(one.record.propensity == 1);
}

TEST_CASE("propensities are those of the draws and sum to one over the safe set") {
  const ClusterView view = fleet(5);
  DecideOptions options;
  options.policy = Policy::model_greedy;
  options.epsilon = 0.4;
  options.safe_margin = 0.02;
  std::mt19937_64 random(3);
  std::map<std::string, double> told;
  std::map<std::string, int> drawn;
  constexpr int kDraws = 20'000;
  for (int i = 0; i < kDraws; ++i) {
    const Advice advice = decide(view, small_pod(), names_of(view), nullptr, options, 0, random);
    told[advice.record.advice] = advice.record.propensity;
    ++drawn[advice.record.advice];
    const double best = std::max_element(advice.record.candidates.begin(), advice.record.candidates.end(),
                                         [](const auto& a, const auto& b) { return a.q < b.q; })
                            ->q;
    REQUIRE(advice.record.candidates[*advice.top].q >= best - options.safe_margin);
  }
  double sum = 0;
  for (const auto& [name, propensity] : told) {
    sum += propensity;
    CHECK(static_cast<double>(drawn[name]) / kDraws == doctest::Approx(propensity).epsilon(0.1));
  }
  CHECK(sum == doctest::Approx(1));
}

TEST_CASE("two hundred asks within one telemetry interval spread instead of herding") {
  ClusterView view = fleet(40);
  std::mt19937_64 random(4);
  for (int ask = 0; ask < 200; ++ask) {
    const Advice advice = decide(view, small_pod(), names_of(view), nullptr, {}, 0, random);
    REQUIRE(advice.top.has_value());
    NodeView& node = view.nodes[*advice.top];
    ++node.in_flight;
    node.in_flight_request.cpu_cores += small_pod().request.cpu_cores;
    node.in_flight_request.memory_bytes += small_pod().request.memory_bytes;
  }
  for (const NodeView& node : view.nodes) CHECK(node.in_flight <= 8);
}

TEST_CASE("fixed rules choose what their names say") {
  ClusterView view = fleet(3);
  for (NodeView& node : view.nodes) node.allocatable = {16, 64e9};
  view.nodes[0].requested = {8, 32e9};
  view.nodes[1].requested = {1, 1e9};
  view.nodes[2].requested = {15, 60e9};
  std::mt19937_64 random(5);
  const auto advised = [&](Policy policy, std::uint64_t turn) {
    DecideOptions options;
    options.policy = policy;
    return decide(view, small_pod(), names_of(view), nullptr, options, turn, random).record.advice;
  };
  CHECK(advised(Policy::least_allocated, 0) == "n1");
  CHECK(advised(Policy::most_allocated, 0) == "n2");
  CHECK(advised(Policy::round_robin, 4) == "n1");
  for (const Policy policy : kAll) CHECK(parse_policy(to_string(policy)).value() == policy);
  CHECK_FALSE(parse_policy("oracle").has_value());
}

TEST_CASE("a bound pod is advised where it is, and contradicting limits are told") {
  const ClusterView view = fleet(3);
  PodSpec pod = small_pod();
  pod.node_name = "n2";
  pod.latency_soft_ms = 50;
  pod.latency_hard_ms = 20;
  std::mt19937_64 random(6);
  const Advice advice = decide(view, pod, names_of(view), nullptr, {}, 0, random);
  CHECK(advice.record.advice == "n2");
  CHECK(advice.scores == std::vector<std::int64_t>{0, 0, 10});
  REQUIRE(advice.record.problems.size() == 1);
  CHECK(advice.record.problems[0].find("soft") != std::string::npos);
}

TEST_CASE("an explanation's terms add up to Q for the winner and the runner-up") {
  const ClusterView view = fleet(4);
  const testing::MixtureNetwork network;
  std::mt19937_64 random(7);
  const Advice advice = decide(view, small_pod(), names_of(view), &network, {}, 0, random);
  const Explanation why = explain(advice, view, small_pod(), RewardConfig{});
  REQUIRE(why.winner.has_value());
  REQUIRE(why.runner_up.has_value());
  CHECK(why.winner->node == advice.record.advice);
  for (const NodeExplanation& node : {*why.winner, *why.runner_up}) {
    double sum = 0;
    for (const auto& [name, value] : node.terms) sum += value;
    CHECK(sum == doctest::Approx(node.q));
    CHECK(node.features.size() == models::kNodeFeatures);
  }
  CHECK(why.runner_up->q <= why.winner->q);
}

TEST_CASE("the board has ascending classes, each with one winner among the feasible nodes") {
  ClusterView view = fleet(4);
  view.nodes[1].ready = false;
  std::mt19937_64 random(8);
  const auto classes = board_classes(view, nullptr, {}, 0, random);
  REQUIRE(classes.size() == kBoardClassCores.size());
  for (std::size_t i = 0; i < classes.size(); ++i) {
    CHECK(classes[i].cpu_request_cores == kBoardClassCores[i]);
    CHECK(classes[i].scores.count("n1") == 0);
    CHECK(std::count_if(classes[i].scores.begin(), classes[i].scores.end(),
                        [](const auto& entry) { return entry.second == 10; }) == 1);
  }
}

}  // namespace
}  // namespace wattle::placement
