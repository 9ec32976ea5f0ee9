// A network trained on six nodes places on 24 and on 60 without further training. The world is synthetic: the reward of
// a placement beyond the prior depends on node and pod, as interference does. The network learns only from rewards of
// random placements, as a one-step DQN.
#include <doctest/doctest.h>

#include <cstdio>

#include "common/stats/bootstrap.hpp"
#include "common/stats/moments.hpp"
#include "torch_rig.hpp"

namespace wattle::models {

using namespace test;

namespace {

constexpr std::size_t kSmall = 6;
constexpr std::uint64_t kSeeds = 5;
constexpr int kSteps = 700, kBatch = 64, kHeldOut = 200;

// The prior does not know the interference of node and pod, nor that some nodes are crowded.
double paid(const Observation& o, std::size_t node) {
  const float* features = &o.node[node * kNodeFeatures];
  const double disturbed = std::max(0.0F, features[3] * o.pod[2]), crowded = std::max(0.0F, features[5] - 0.2F);
  return static_cast<double>(o.prior[node]) - 2 * disturbed - crowded;
}

Weights learned(std::uint64_t seed) {
  Random random(seed);
  const auto t = trainer({.seed = seed, .learning_rate = 2e-3, .polyak = 1});
  std::vector<Transition> batch(kBatch);
  for (int step = 0; step < kSteps; ++step) {
    std::vector<const Transition*> borrowed;
    for (Transition& each : batch) {
      each.state = observation(random, kSmall);
      each.action = random_action(random, each.state);
      each.reward = static_cast<float>(paid(each.state, each.action)) + uniform(random, -0.3, 0.3);
      borrowed.push_back(&each);
    }
    REQUIRE(t->step(borrowed));
  }
  return t->weights();
}

std::size_t best(const std::vector<float>& q, const Observation& o) {
  std::size_t found = o.nodes;
  for (std::size_t i = 0; i < o.nodes; ++i)
    if (o.valid[i] != 0 && (found == o.nodes || q[i] > q[found])) found = i;
  return found;
}

struct Scores {
  double trained = 0, prior = 0, random = 0;  // mean reward of placements
};

Scores score(const QNetwork& network, std::size_t nodes, std::uint64_t seed) {
  Random random(1000 + seed);
  stats::Moments trained, prior, any;
  for (int i = 0; i < kHeldOut; ++i) {
    const Observation o = observation(random, nodes);
    trained.add(paid(o, best(q(network, o), o)));
    prior.add(paid(o, best(o.prior, o)));
    any.add(paid(o, random_action(random, o)));
  }
  return {trained.mean(), prior.mean(), any.mean()};
}

// Repeats each node `times` times.
Observation repeated(const Observation& o, std::size_t times) {
  std::vector<std::size_t> from;
  Observation many = o;
  many.nodes = times * o.nodes;
  many.node.resize(many.nodes * kNodeFeatures);
  many.prior.resize(many.nodes);
  many.valid.resize(many.nodes);
  for (std::size_t i = 0; i < many.nodes; ++i) {
    std::copy_n(o.node.begin() + static_cast<std::ptrdiff_t>(i / times * kNodeFeatures), kNodeFeatures,
                many.node.begin() + static_cast<std::ptrdiff_t>(i * kNodeFeatures));
    many.prior[i] = o.prior[i / times];
    many.valid[i] = o.valid[i / times];
  }
  return many;
}

}  // namespace

TEST_CASE("a network trained on six nodes places better than its prior and than chance on six, 24 and 60") {
  std::vector<std::shared_ptr<const FrozenNetwork>> networks;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed)
    networks.push_back(FrozenNetwork::from_weights(learned(seed), kSteps).value());
  for (const std::size_t nodes : {kSmall, 4 * kSmall, 10 * kSmall}) {
    std::vector<double> trained, prior, any;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      const Scores scores = score(*networks[seed - 1], nodes, seed);
      trained.push_back(scores.trained);
      prior.push_back(scores.prior);
      any.push_back(scores.random);
    }
    const stats::Interval over_prior = stats::paired_difference(trained, prior),
                          over_any = stats::paired_difference(trained, any);
    std::printf("taught on %zu nodes, on %zu: over the prior %s, over chance %s\n", kSmall, nodes,
                stats::interval_text(over_prior, {3, 1, true, ""}).c_str(),
                stats::interval_text(over_any, {3, 1, true, ""}).c_str());
    CHECK(over_prior.above_zero());
    CHECK(over_any.above_zero());
  }
}

TEST_CASE("any number of nodes is answered, and copies of a fleet are ranked as the fleet itself") {
  const auto network = FrozenNetwork::from_weights(weights(7), 1).value();
  Random random(3);
  for (const std::size_t nodes : {1U, 2U, 7U, 60U, 5000U})
    for (const float value : residual(*network, observation(random, nodes))) CHECK(std::isfinite(value));
  for (int round = 0; round < 20; ++round) {
    const Observation few = observation(random, kSmall);
    const auto once = residual(*network, few);
    for (const std::size_t times : {4U, 10U}) {
      const auto many = residual(*network, repeated(few, times));
      for (std::size_t i = 0; i < many.size(); ++i) CHECK(std::abs(many[i] - once[i / times]) < 1e-4F);
    }
  }
}

}  // namespace wattle::models
