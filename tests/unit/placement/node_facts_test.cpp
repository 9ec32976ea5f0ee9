// node_facts: decisions from kept facts equal those from fresh facts, bit for bit.
#include "placement/worth/node_facts.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <random>

#include "common/wire/codec.hpp"
#include "placement/decide/decide.hpp"
#include "placement/decide/policies/registry.hpp"
#include "placement/worth/ranks.hpp"
#include "tests/unit/placement/views.hpp"

namespace wattle::placement {
namespace {

PodSpec random_pod(std::mt19937_64& random) {
  const auto real = [&](double from, double to) { return std::uniform_real_distribution<double>(from, to)(random); };
  PodSpec pod = testing::small_pod();
  pod.request = {real(0, 2), real(0, 4e9)};
  if (random() % 3 == 0) pod.demand_cores = real(0, 3);
  if (random() % 3 == 0) pod.latency_soft_ms = real(1, 40);
  if (random() % 4 == 0) pod.latency_hard_ms = real(20, 60);
  if (random() % 4 == 0) pod.latency_target = random() % 2 == 0 ? "default" : "other";
  return pod;
}

std::string record_of(PlacementDecision advice) { return wire::encode(wire::Message(std::move(advice.record))); }

TEST_CASE("decisions from kept facts equal those from fresh facts, whichever nodes change in between") {
  REQUIRE(rc::check([](std::uint64_t seed) {
    std::mt19937_64 random(seed);
    ClusterView view = testing::random_view(seed, 1 + random() % 40);
    view.edition_of.assign(view.nodes.size(), ++view.edition);
    const auto policy = make_policy(random() % 2 == 0 ? "dqn" : "node-order-costs").value();
    FactsOfNodes kept;
    DecideOptions options;
    if (random() % 4 == 0) options.reward.preset = Preset::ee;
    std::vector<std::string> names = testing::names_of(view);
    for (int step = 0; step < 12; ++step) {
      const ClusterView other = testing::random_view(random(), view.nodes.size());
      for (std::size_t i = 0; i < view.nodes.size(); ++i) {
        NodeView& node = view.nodes[i];
        if (random() % 3 == 0) {  // not reported as changes
          node.telemetry_age = other.nodes[i].telemetry_age;
          node.same_app_pods = random() % 4;
          node.owner_pods = random() % 4;
        }
        if (random() % 3 != 0) continue;
        node = other.nodes[i];
        if (random() % 2 == 0) node.latency_ms["other"] = static_cast<double>(random() % 50);
        view.edition_of[i] = ++view.edition;
      }
      std::shuffle(names.begin(), names.end(), random);
      const PodSpec pod = random_pod(random);
      std::mt19937_64 one(seed), same(seed);
      const PlacementDecision by_kept = decide(view, pod, names, {.policy = *policy, .facts = &kept}, options, 0, one);
      const PlacementDecision by_fresh = decide(view, pod, names, {.policy = *policy}, options, 0, same);
      RC_ASSERT(by_kept.observation.node == by_fresh.observation.node);
      RC_ASSERT(by_kept.observation.prior == by_fresh.observation.prior);
      RC_ASSERT(by_kept.scores == by_fresh.scores);
      RC_ASSERT(record_of(by_kept) == record_of(by_fresh));
    }
  }));
}

TEST_CASE("facts of a view are not used for another view with the same editions") {
  ClusterView view = testing::random_view(1, 5), other = testing::random_view(2, 5);
  view.edition_of = other.edition_of = {1, 1, 1, 1, 1};
  const std::vector<std::size_t> all = {0, 1, 2, 3, 4};
  FactsOfNodes kept;
  kept.look(view, all, true);
  kept.look(other, all, true);
  for (const std::size_t i : all) CHECK(kept[i].watts == other.nodes[i].curve.points());
}

TEST_CASE("few and many values are sorted as std::sort sorts them") {
  CHECK(rc::check([](std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal(0, 50);
    std::vector<double> values(random() % 900);
    for (double& value : values) {
      value = normal(random);
      if (random() % 3 == 0) value = 7 + 1e-12 * static_cast<double>(random() % 300);
      if (random() % 9 == 0) value = 0;
    }
    std::vector<double> sorted = values;
    std::sort(sorted.begin(), sorted.end());
    sort_ascending(values);
    RC_ASSERT(values == sorted);
  }));
}

}  // namespace
}  // namespace wattle::placement
