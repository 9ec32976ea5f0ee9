// contest and twins: a network that is behind is left out, one that is not hardly ever is, and the same network is never either.
#include "placement/contest.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <random>

#include "models/frozen/frozen_network.hpp"
#include "models/frozen/layout.hpp"
#include "placement/network_rule.hpp"
#include "placement/twins.hpp"

namespace wattle::placement {
namespace {

// Blocks until the verdict changes, at most `most`.
template <class Draw>
std::uint64_t blocks_until(Contest& contest, std::uint64_t most, Draw&& draw) {
  for (std::uint64_t block = 1; block <= most; ++block)
    if (contest.add(draw())) return block;
  return most + 1;
}

TEST_CASE(
    "false alarms: of a thousand networks that are not behind, hardly any is left out in a tenth of the stated run") {
  // Ville: the chance of an alarm within n blocks is at most n / run_blocks, whatever the distribution.
  struct Shape {
    const char* name;
    double up, chance;  // `up` with that chance, else what makes the mean 0
  };
  for (const Shape& shape : {Shape{"even", 1.0, 0.5}, Shape{"mostly a little ahead", 1.0, 0.1},
                             Shape{"mostly a little behind", 0.1, 0.9}, Shape{"small", 0.02, 0.5}}) {
    std::mt19937_64 random(7);
    int alarms = 0;
    for (int run = 0; run < 1000; ++run) {
      Contest contest;
      const double down = -shape.up * shape.chance / (1 - shape.chance);
      const auto draw = [&] {
        return std::uniform_real_distribution<double>(0, 1)(random) < shape.chance ? shape.up : down;
      };
      const auto tenth = static_cast<std::uint64_t>(contest.options().run_blocks / 10);
      if (blocks_until(contest, tenth, draw) <= tenth) ++alarms;
    }
    CHECK_MESSAGE(alarms <= 130, shape.name);  // 100 expected at the most, three standard deviations
  }
}

TEST_CASE("a network that costs a tenth more is left out, comes back when it is better, and not for noise") {
  std::mt19937_64 random(3);
  std::normal_distribution<double> noise(0, 0.2);
  Contest contest;
  REQUIRE(blocks_until(contest, 2000, [&] { return 0.1 + noise(random); }) <= 2000);
  CHECK(contest.left_out());
  CHECK(contest.evidence() == 0);
  CHECK(blocks_until(contest, 500, [&] { return 0.1 + noise(random); }) > 500);  // still behind
  CHECK(blocks_until(contest, 2000, [&] { return -0.2 + noise(random); }) <= 2000);
  CHECK_FALSE(contest.left_out());
  CHECK(contest.changes() == 2);
}

TEST_CASE("what is no number counts for nothing, and beginning anew forgets everything") {
  Contest contest;
  CHECK_FALSE(contest.add(std::nan("")));
  CHECK(contest.blocks() == 0);
  while (!contest.add(1)) {
  }
  CHECK(contest.left_out());
  contest.begin_anew();
  CHECK_FALSE(contest.left_out());
  CHECK(contest.mean() == 0);
}

Fleet draw_fleet(std::mt19937_64& random) {
  const auto real = [&](double from, double to) { return std::uniform_real_distribution<double>(from, to)(random); };
  Fleet fleet;
  fleet.idle_nodes_sleep = random() % 2 == 0;
  fleet.pods_stay = random() % 2 == 0;
  double cores = 0;
  for (int i = 0; i < 5; ++i) {
    FleetNode node;
    node.allocatable = {8 + static_cast<double>(random() % 12), 64e9};
    const double idle_w = real(20, 100), span_w = real(20, 200);
    for (std::size_t k = 0; k < kCurvePoints; ++k) node.watts[k] = idle_w + span_w * static_cast<double>(k) / 10;
    node.sleeps = fleet.idle_nodes_sleep;
    node.wake_j = real(0, 5000);
    cores += node.allocatable.cpu_cores;
    fleet.nodes.push_back(node);
  }
  fleet.expected_cores = {0.3 * cores, 0.8 * cores};
  fleet.expected_demand = {0.1, 0.2, 0.4};
  fleet.revision = 1;
  return fleet;
}

// Wants the dearest node that fits, by amortised cost.
struct Dearest final : models::QNetwork {
  void residual(const models::Observation& seen, std::span<float> out) const override {
    for (std::size_t i = 0; i < seen.nodes; ++i) out[i] = 10 * seen.node[i * models::kNodeFeatures + 17];
  }
  std::uint64_t step() const override { return 0; }
};

TEST_CASE("twins: the planner against itself differs by nothing, against one that wants the dearest node it is ahead") {
  const auto same = models::FrozenNetwork::from_weights(models::initial_weights(3), 0).value();
  const Dearest dearest;
  double sum = 0;
  std::size_t figures = 0;
  REQUIRE(rc::check([&](std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const Fleet fleet = draw_fleet(random);
    ClusterView view;
    fill_view(fleet, view);
    std::vector<std::size_t> rows(fleet.nodes.size());
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = i;
    Planner planner({});
    Twins equal, apart;
    PodSpec pod;
    RewardConfig reward;
    for (int k = 0; k < 10; ++k) {
      const Ask ask{
          {1, 1e9}, 0.1 * static_cast<double>(1 + random() % 5), 600.0 * static_cast<double>(1 + random() % 9)};
      pod.request = ask.request;
      const auto none = equal.play({view, fleet, rows, pod, ask, reward, {}, *same}, planner);
      const auto some = apart.play({view, fleet, rows, pod, ask, reward, {}, dearest}, planner);
      RC_ASSERT(none.has_value() == (k == 9));
      if (none) RC_ASSERT(*none == 0);
      if (!some) continue;
      RC_ASSERT(*some >= -1 && *some <= 1);
      sum += *some;
      ++figures;
    }
  }));
  REQUIRE(figures > 0);
  CHECK(sum / static_cast<double>(figures) > 0.05);
}

TEST_CASE(
    "a guarded rule takes to the planner when its network wants the dearest nodes, and stays with one that is the "
    "planner") {
  std::mt19937_64 random(5);
  const auto play = [&](std::shared_ptr<const models::QNetwork> network) {
    NetworkRuleOptions options;
    options.guard.emplace();
    NetworkRule rule(std::move(network), options);
    Fleet fleet = draw_fleet(random);
    fleet.pods_stay = false;
    fleet.idle_nodes_sleep = true;
    for (int k = 0; k < 3000 && !rule.contest().left_out(); ++k) {
      Fleet now = fleet;
      const Ask ask{{1, 1e9}, 0.1 * static_cast<double>(1 + random() % 5), 3600};
      rule.choose(now, ask);
    }
    return rule.contest().left_out();
  };
  CHECK(play(std::make_shared<Dearest>()));
  CHECK_FALSE(play(models::FrozenNetwork::from_weights(models::initial_weights(3), 0).value()));
}

}  // namespace
}  // namespace wattle::placement
