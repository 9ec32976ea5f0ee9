// Equal nodes get equal scores under every policy, and the record says so. A difference counts as soon as floats can
// represent it.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <set>

#include "placement/decide/board.hpp"
#include "placement/decide/decide.hpp"
#include "placement/decide/policies/registry.hpp"
#include "tests/unit/placement/views.hpp"

namespace wattle::placement {
namespace {

using testing::healthy_node;
using testing::names_of;

// Copies of one node.
ClusterView alike(std::size_t count, double cores) {
  ClusterView view;
  for (std::size_t i = 0; i < count; ++i) {
    view.nodes.push_back(healthy_node("n" + std::to_string(i), cores));
    view.nodes.back().latency_ms["default"] = 12;
    view.nodes.back().pods = 3;
    view.nodes.back().requested = {1, 1e9};
  }
  return view;
}

// The same residual for every node.
struct Flat final : models::QNetwork {
  explicit Flat(float said) : said_(said) {}
  void residual(const models::Observation& observation, std::span<float> out) const override {
    for (std::size_t i = 0; i < observation.nodes; ++i) out[i] = observation.valid[i] != 0 ? said_ : 0.0F;
  }
  std::uint64_t step() const override { return 1; }

 private:
  float said_;
};

TEST_CASE("for equal nodes no scoring policy prefers one, under any preset, and the record says so") {
  CHECK(rc::check([] {
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    const PolicyInfo info = policies()[*rc::gen::inRange<std::size_t>(0, policies().size())];
    DecideOptions options;
    options.reward.preset = static_cast<Preset>(*rc::gen::inRange(0, static_cast<int>(Preset::expression) + 1));
    options.reward.formula = Formula::compile("energy + latency - packing").value();
    options.epsilon = *rc::gen::element(0.0, 0.3);
    const std::size_t count = *rc::gen::inRange<std::size_t>(2, 30);
    ClusterView view = alike(count, static_cast<double>(*rc::gen::inRange(2, 64)));
    const bool masked = count > 2 && *rc::gen::arbitrary<bool>();
    if (masked) view.nodes[0].ready = false;
    const Flat network(static_cast<float>(*rc::gen::inRange(-1000, 1000)) * 0.37F);
    const bool served = *rc::gen::arbitrary<bool>();
    std::mt19937_64 random(seed);
    const auto policy = make_policy(info.name).value();
    const PlacementDecision advice = decide(view, testing::small_pod(), names_of(view),
                                            {*policy, served ? &network : nullptr}, options, seed, random);
    // A plan and a fixed order fill one of equal nodes before the next.
    if (info.name == "planner" || info.name.starts_with("node-order")) {
      RC_ASSERT(advice.top.has_value());
      RC_ASSERT(advice.record.decided_by == (info.name == "planner" ? "plan" : "rule"));
      return;
    }
    RC_ASSERT(!advice.top.has_value());
    RC_ASSERT(std::count(advice.scores.begin(), advice.scores.end(), 0) == static_cast<std::ptrdiff_t>(count));
    RC_ASSERT(advice.record.decided_by == "neutral");
    RC_ASSERT(advice.record.advice.empty());
    RC_ASSERT(!advice.record.explored);
    RC_ASSERT(advice.record.propensity == 0);
    RC_ASSERT(advice.record.reason.starts_with("neutral: all " + std::to_string(count - (masked ? 1 : 0)) +
                                               " feasible nodes"));
    // The observation can be learned from, because it has the feasible nodes.
    RC_ASSERT(std::count(advice.observation.valid.begin(), advice.observation.valid.end(), 1) ==
              static_cast<std::ptrdiff_t>(count - (masked ? 1 : 0)));
  }));
}

TEST_CASE("a single feasible node is advised, although there is nothing to compare") {
  ClusterView view = alike(3, 8);
  view.nodes[0].ready = view.nodes[2].ready = false;
  std::mt19937_64 random(1);
  const auto policy = make_policy("dqn").value();
  const PlacementDecision advice = decide(view, testing::small_pod(), names_of(view), {*policy}, {}, 0, random);
  CHECK(advice.scores == std::vector<std::int64_t>{0, 10, 0});
}

TEST_CASE("between large values only a difference that floats can represent counts") {
  struct Apart final : models::QNetwork {
    void residual(const models::Observation& observation, std::span<float> out) const override {
      for (std::size_t i = 0; i < observation.nodes; ++i) out[i] = level + (i == 1 ? step_up : 0.0F);
    }
    std::uint64_t step() const override { return 1; }
    float level = 0, step_up = 0;
  };
  const ClusterView view = alike(3, 8);
  DecideOptions options;
  options.reward.with_prior = false;
  std::mt19937_64 random(1);
  const auto policy = make_policy("dqn").value();
  const auto advised = [&](float level, float step_up) {
    Apart network;
    network.level = level;
    network.step_up = step_up;
    return decide(view, testing::small_pod(), names_of(view), {*policy, &network}, options, 0, random).record.advice;
  };
  CHECK(advised(0, 1e-5F) == "n1");
  CHECK(advised(0, 1e-7F).empty());
  CHECK(advised(-300, 1e-2F) == "n1");
  CHECK(advised(-300, 3.1e-5F).empty());  // two floats apart
}

TEST_CASE("a board of equal nodes has no scores") {
  std::mt19937_64 random(8);
  const auto policy = make_policy("model-greedy").value();
  for (const auto& each : board_classes(alike(4, 16), {*policy}, {}, 0, random)) CHECK(each.scores.empty());
}

}  // namespace
}  // namespace wattle::placement
