// shortlist: the nodes of a large fleet that the network gets, and their features as a fleet of their own.
#include "placement/worth/shortlist.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "placement/decide/policies/network.hpp"
#include "placement/worth/features.hpp"
#include "tests/unit/placement/views.hpp"

namespace wattle::placement {
namespace {

constexpr std::size_t kPlanKnown = 10;

// `nodes` nodes of three kinds with different loads, in a plan that likes `pick` best.
models::Observation planned(std::size_t nodes, std::uint64_t seed, std::size_t pick) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> share(0, 0.9);
  ClusterView view;
  PlanView plan;
  for (std::size_t i = 0; i < nodes; ++i) {
    NodeView node = testing::healthy_node("n" + std::to_string(i));
    std::array<double, kCurvePoints> watts{};
    const double idle = 40.0 + 60.0 * static_cast<double>(i % 3);
    for (std::size_t k = 0; k < watts.size(); ++k) watts[k] = idle + 12 * static_cast<double>(k);
    node.curve = PowerCurve::known(watts);
    node.requested.cpu_cores = share(random) * node.allocatable.cpu_cores;
    node.values.cpu_used_cores = 0.5 * node.requested.cpu_cores;
    view.nodes.push_back(node);
    plan.nodes.push_back({share(random), share(random), i == pick ? 0.0 : -0.01 - share(random), 60});
  }
  plan.pick = pick;
  plan.life_s = 3600;
  plan.demand_cores = 0.25;
  return observe(view, testing::small_pod(), std::vector<std::string_view>(nodes), RewardConfig(), &plan);
}

}  // namespace

TEST_CASE("a shortlist has the given number of valid rows, including the plan's choice and required ones") {
  CHECK(rc::check("shortlist", [] {
    const std::size_t nodes = *rc::gen::inRange<std::size_t>(2, 60), most = *rc::gen::inRange<std::size_t>(1, 20);
    const std::size_t pick = *rc::gen::inRange<std::size_t>(0, nodes), also = *rc::gen::inRange<std::size_t>(0, nodes);
    models::Observation seen = planned(nodes, *rc::gen::arbitrary<std::uint64_t>(), pick);
    for (std::size_t i = 0; i < nodes; ++i)
      seen.valid[i] = i == pick || i == also || *rc::gen::arbitrary<bool>() ? 1 : 0;
    const auto valid = static_cast<std::size_t>(std::count(seen.valid.begin(), seen.valid.end(), 1));
    const auto listed = shortlist(seen, most, also);
    RC_ASSERT(listed.size() == std::min(most, valid));
    RC_ASSERT(std::is_sorted(listed.begin(), listed.end()));
    RC_ASSERT(std::adjacent_find(listed.begin(), listed.end()) == listed.end());
    for (const std::size_t row : listed) RC_ASSERT(seen.valid[row] == 1);
    RC_ASSERT(std::binary_search(listed.begin(), listed.end(), also));
    if (most > 1) RC_ASSERT(std::binary_search(listed.begin(), listed.end(), pick));
    RC_ASSERT(beyond_shortlist(seen, most) == (valid > most));
    RC_ASSERT(!beyond_shortlist(seen, 0));
    seen.pod[kPlanKnown] = 0;  // an uninformative prior
    RC_ASSERT(!beyond_shortlist(seen, most));
  }));
}

TEST_CASE("each kind of node is listed before a second node of a less preferred kind") {
  models::Observation seen = planned(30, 1, 0);
  for (std::size_t i = 0; i < 30; ++i) {
    // Equal loads; the ten of the first kind are the best.
    for (std::size_t feature = 0; feature < 8; ++feature) seen.node[i * models::kNodeFeatures + feature] = 0.5F;
    seen.prior[i] = i % 3 == 0 ? -0.1F : -1.0F - static_cast<float>(i);
  }
  const auto listed = shortlist(seen, 6);
  for (std::size_t kind = 0; kind < 3; ++kind)
    CHECK(std::any_of(listed.begin(), listed.end(), [&](std::size_t row) { return row % 3 == kind; }));
}

TEST_CASE("if all rows of a fleet are listed, they do not change") {
  const models::Observation seen = planned(12, 7, 3);
  std::vector<std::size_t> all(12);
  std::iota(all.begin(), all.end(), std::size_t{0});
  const models::Observation alone = listed_alone(seen, all);
  REQUIRE(alone.nodes == seen.nodes);
  CHECK(alone.prior == seen.prior);
  for (std::size_t i = 0; i < seen.node.size(); ++i)
    CHECK(alone.node[i] == doctest::Approx(seen.node[i]).epsilon(1e-4));
  for (std::size_t i = 0; i < seen.pod.size(); ++i) CHECK(alone.pod[i] == doctest::Approx(seen.pod[i]).epsilon(1e-4));
  for (std::size_t i = 0; i < seen.context.size(); ++i)
    CHECK(alone.context[i] == doctest::Approx(seen.context[i]).epsilon(1e-4));
}

TEST_CASE("in a list, shares add up, ranks go from 0 to 1, and the number of nodes is that of the list") {
  const models::Observation seen = planned(200, 9, 3);
  const models::Observation alone = listed_alone(seen, shortlist(seen, 10));
  const auto column = [](std::string_view name) {
    return static_cast<std::size_t>(std::find_if(kNodeFeatureSpecs.begin(), kNodeFeatureSpecs.end(),
                                                 [&](const FeatureSpec& spec) { return spec.name == name; }) -
                                    kNodeFeatureSpecs.begin());
  };
  double left = 0, lowest = 1, highest = 0;
  for (std::size_t i = 0; i < alone.nodes; ++i) {
    const float* node = &alone.node[i * models::kNodeFeatures];
    left += static_cast<double>(node[column("plan_left")]);
    lowest = std::min(lowest, static_cast<double>(node[column("amortised_rank")]));
    highest = std::max(highest, static_cast<double>(node[column("amortised_rank")]));
  }
  CHECK(left == doctest::Approx(1).epsilon(1e-4));
  CHECK(lowest < 0.3);
  CHECK(highest > 0.7);
  CHECK(alone.context[5] == doctest::Approx(std::log2(10) / 12));
}

TEST_CASE("a node outside the list never wins, and the network gets no more nodes than the list has") {
  struct ByCount final : models::QNetwork {
    void residual(const models::Observation& observation, std::span<float> out) const override {
      CHECK(observation.nodes == 2);
      for (std::size_t i = 0; i < observation.nodes; ++i) out[i] = -2 - static_cast<float>(i);
    }
    std::uint64_t step() const override { return 7; }
  };
  const ByCount network{};
  models::Observation seen = planned(5, 3, 1);
  seen.prior = {-0.5F, -0.1F, -0.3F, -0.2F, 0.0F};
  seen.valid = {1, 1, 1, 1, 0};
  std::vector<float> two(5);
  const Shortlisted received(network, 2);
  received.residual(seen, two);
  CHECK(two[1] == -2);
  CHECK(two[4] == 0);
  CHECK(received.step() == 7);
  CHECK(best_node(seen, two, std::nullopt, 0) == 1);
  for (const std::size_t other : {0U, 2U, 3U}) CHECK(two[other] <= -2);
}

}  // namespace wattle::placement
