// copies of a cluster weigh latency as outcomes do: priced beyond the soft limit, a mask beyond the hard one.
#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <vector>

#include "placement/judge/paired_choices.hpp"
#include "placement/judge/paired_simulation.hpp"
#include "placement/worth/objective.hpp"
#include "sim/improve/fleet_view.hpp"
#include "tests/unit/placement/paired_world.hpp"

namespace wattle::placement {
namespace {

// Wants, or shuns, the node whose users are farthest.
struct ByDistance final : models::QNetwork {
  explicit ByDistance(float wants) : wants_(wants) {}
  void residual(const models::Observation& seen, std::span<float> out) const override {
    for (std::size_t i = 0; i < seen.nodes; ++i) out[i] = wants_ * seen.node[i * models::kNodeFeatures + 25];
  }
  std::uint64_t step() const override { return 0; }
  float wants_;
};

// Blocks' figures of one network against another, null the prior alone, where nodes are alike but for how far their users are: 5, 15 ... ms.
std::vector<double> figures_by_distance(const models::QNetwork* challenger, const models::QNetwork* incumbent,
                                        const PodSpec& pod, const RewardConfig& reward) {
  std::mt19937_64 random(5);
  Fleet fleet = draw_fleet(random);
  fleet.pods_stay = fleet.idle_nodes_sleep = false;
  for (FleetNode& node : fleet.nodes) {
    node = fleet.nodes.front();
    node.sleeps = false;
  }
  const std::vector<std::size_t> rows{0, 1, 2, 3, 4};
  Planner planner({});
  PairedSimulation copies;
  ClusterView view;
  std::vector<double> figures;
  live(
      random, fleet, 100,
      [&](const Fleet& now, const PodEstimate& ask, std::uint64_t key) -> std::optional<std::size_t> {
        sim::fill_view(now, view);
        for (const std::size_t i : rows) {
          view.nodes[i].ready = true;
          view.nodes[i].latency_ms["default"] = 5 + 10 * static_cast<double>(i);
        }
        const PairedQuestion question{view, now, rows, pod, ask, {}, key, latency_price_w(reward, ask.life_s)};
        if (const auto figure = copies.play(question, by_network(question, planner, reward, challenger, 0),
                                            by_network(question, planner, reward, incumbent, 0)))
          figures.push_back(*figure);
        copies.placed(key, key % 5, ask, now.now_s);
        return key % 5;
      },
      [&](const Running& each) { copies.ended(each.key, each.ends_s); });
  return figures;
}

TEST_CASE("copies: users that are farther than the soft limit cost, who is exchanged for whom changes the sign alone") {
  PodSpec pod;
  pod.request = {1, 1e9};
  pod.latency_soft_ms = 10;
  const ByDistance far(5), near(-5);
  const RewardConfig reward;
  const std::vector<double> behind = figures_by_distance(&far, &near, pod, reward);
  const std::vector<double> ahead = figures_by_distance(&near, &far, pod, reward);
  REQUIRE(behind.size() >= 9);
  REQUIRE(ahead.size() == behind.size());
  for (std::size_t i = 0; i < behind.size(); ++i) {
    CHECK(behind[i] > 0.05);
    CHECK(ahead[i] == doctest::Approx(-behind[i]));
  }
}

TEST_CASE("copies: latency costs nothing where no reward weighs it, and where it is the same everywhere") {
  PodSpec pod;
  pod.request = {1, 1e9};
  pod.latency_soft_ms = 1000;  // every node is near enough
  const ByDistance far(5), near(-5);
  RewardConfig reward;
  CHECK(latency_price_w(reward, 1800) == doctest::Approx(2 * 20.0));  // an hour's 20 W in half an hour
  CHECK(latency_price_w(reward, INFINITY) == doctest::Approx(20.0));
  for (const double figure : figures_by_distance(&far, &near, pod, reward)) CHECK(std::abs(figure) < 1e-9);
  pod.latency_soft_ms = 10;
  reward.weights.latency = 0;
  CHECK(latency_price_w(reward, 1800) == 0);
  for (const double figure : figures_by_distance(&far, &near, pod, reward)) CHECK(std::abs(figure) < 1e-9);
}

TEST_CASE("copies: no network chooses a node beyond a hard limit, so that who would costs no more") {
  PodSpec pod;
  pod.request = {1, 1e9};
  pod.latency_hard_ms = 10;  // the first node alone
  const ByDistance far(5), near(-5);
  for (const double figure : figures_by_distance(&far, &near, pod, RewardConfig{})) CHECK(figure == 0);
}

}  // namespace
}  // namespace wattle::placement
