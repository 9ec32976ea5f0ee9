// Imitation: learning from examples.
#include <doctest/doctest.h>

#include <limits>

#include "torch_rig.hpp"

namespace wattle::models {

using namespace test;

namespace {

std::unique_ptr<PolicyTrainer> policy_trainer(const TrainerOptions& options = {}) {
  auto made = make_torch_policy_trainer(options);
  REQUIRE(made);
  return std::move(*made);
}

PolicyExample example(Random& random, std::size_t nodes) {
  PolicyExample e;
  e.state = observation(random, nodes);
  e.target.assign(nodes, 0.0F);
  e.tried = e.state.valid;
  e.target[random_action(random, e.state)] = 1.0F;
  return e;
}

// KL(target, softmax(Q / temperature)) by the serving kernels.
double divergence(const QNetwork& network, const PolicyExample& e, double temperature) {
  const auto all = q(network, e.state);
  double sum = 0, loss = 0;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (e.tried[i] != 0) sum += std::exp(static_cast<double>(all[i]) / temperature);
  for (std::size_t i = 0; i < all.size(); ++i)
    if (e.target[i] > 0)
      loss += static_cast<double>(e.target[i]) *
              (std::log(static_cast<double>(e.target[i])) - static_cast<double>(all[i]) / temperature + std::log(sum));
  return loss;
}

}  // namespace

TEST_CASE("imitation: the loss of torch equals that of the frozen network, and only shown examples are learned") {
  Random random(11);
  std::vector<PolicyExample> all;
  for (std::size_t k = 0; k < 8; ++k) all.push_back(example(random, 2 + k));
  for (std::size_t i = 0; i < all[5].state.nodes; ++i)  // one whose choice was tried against a single other node
    if (all[5].target[i] <= 0) all[5].tried[i] = i == (all[5].target[0] > 0 ? 1U : 0U) ? all[5].state.valid[i] : 0;
  std::vector<const PolicyExample*> batch;
  for (const PolicyExample& e : all) batch.push_back(&e);
  const auto t = policy_trainer({.seed = 5, .learning_rate = 3e-3});
  const Weights before = t->weights();
  double first = 0, last = 0;
  for (int k = 0; k < 400; ++k) {
    const auto now = frozen(*t);
    const auto stats = t->imitate(batch, 0.3);
    REQUIRE(stats);
    if (k % 100 == 0) {
      double expected = 0;
      for (const PolicyExample& e : all) expected += divergence(*now, e, 0.3) / static_cast<double>(all.size());
      CHECK(stats->loss == doctest::Approx(expected).epsilon(1e-3));
    }
    if (k == 0) first = stats->loss;
    last = stats->loss;
  }
  CHECK(last < 0.05 * first);
  for (const char* name : {"value.weight", "value.out.weight", "value.out.bias"})
    CHECK(t->weights().at(name).values == before.at(name).values);
}

TEST_CASE("imitation: a cost moves the choice to the minimum of cross-entropy plus mean cost") {
  Random random(7);
  PolicyExample e = example(random, 4);
  e.state.valid.assign(4, 1);
  e.tried = {1, 1, 0, 0};
  e.target = {0.5F, 0.5F, 0.0F, 0.0F};
  e.cost = {2.0F, 0.0F, 9.0F, 9.0F};  // untried choices have no effect
  const std::vector<const PolicyExample*> batch{&e};
  // d/dx of the loss over p = sigmoid(x): (p - 1/2) + 2 p (1 - p) = 0.
  const double wanted = (3 - std::sqrt(5.0)) / 4;
  const auto chosen = [&](const QNetwork& network) {
    const auto all = q(network, e.state);
    return 1 / (1 + std::exp((static_cast<double>(all[1]) - static_cast<double>(all[0])) / 0.3));
  };
  const auto t = policy_trainer({.seed = 2, .learning_rate = 3e-3});
  for (int k = 0; k < 400; ++k) REQUIRE(t->imitate(batch, 0.3));
  CHECK(chosen(*frozen(*t)) == doctest::Approx(wanted).epsilon(0.01));
}

TEST_CASE("imitation: padding changes nothing, and the same examples give the same weights bit for bit") {
  Random random(3);
  const PolicyExample small = example(random, 3), large = example(random, 12);
  const auto together = policy_trainer(), again = policy_trainer();
  const std::vector<const PolicyExample*> both{&small, &large};
  const auto stats = together->imitate(both, 0.15);
  REQUIRE(stats);
  REQUIRE(again->imitate(both, 0.15));
  CHECK(together->weights().at("node.0.weight").values == again->weights().at("node.0.weight").values);
  double alone = 0;
  for (const PolicyExample* e : both) {
    const auto one = policy_trainer()->imitate(std::vector<const PolicyExample*>{e}, 0.15);
    REQUIRE(one);
    alone += one->loss / 2;
  }
  CHECK(stats->loss == doctest::Approx(alone).epsilon(1e-4));
}

TEST_CASE("imitation: an inconsistent example is refused and changes nothing") {
  Random random(4);
  const PolicyExample good = example(random, 5);
  const auto t = policy_trainer();
  const Weights before = t->weights();
  const auto refused = [&](PolicyExample bad) {
    return !t->imitate(std::vector<const PolicyExample*>{&good, &bad}, 0.15);
  };
  PolicyExample bad = good;
  bad.target.assign(5, 0.0F);
  CHECK(refused(bad));
  bad = good;
  bad.target.pop_back();
  CHECK(refused(bad));
  bad = good;
  bad.target[0] = -1;
  CHECK(refused(bad));
  bad = good;
  bad.state.valid.assign(5, 0);
  CHECK(refused(bad));
  bad = good;
  bad.cost.assign(4, 0.0F);
  CHECK(refused(bad));
  for (const float cost : {-1.0F, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    bad = good;
    bad.cost.assign(5, cost);
    CHECK(refused(bad));
  }
  CHECK_FALSE(t->imitate(std::vector<const PolicyExample*>{&good}, 0));
  CHECK_FALSE(t->imitate({}, 0.15));
  CHECK(t->weights().at("advantage.out.weight").values == before.at("advantage.out.weight").values);
  CHECK(t->steps() == 0);
}

}  // namespace wattle::models
