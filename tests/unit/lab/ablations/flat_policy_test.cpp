// flat_policy: learns examples, and takes no more nodes than it was made for.
#include "lab/ablations/flat_policy.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "tests/unit/models/torch_rig.hpp"

namespace wattle::models {

using namespace test;

namespace {

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

TEST_CASE("the flat network learns examples, says what it learned, and takes no more nodes than it was made for") {
  Random random(8);
  std::vector<PolicyExample> all;
  for (int k = 0; k < 8; ++k) all.push_back(example(random, 3 + static_cast<std::size_t>(k) % 4));
  std::vector<const PolicyExample*> batch;
  for (const PolicyExample& each : all) batch.push_back(&each);
  const auto flat = make_flat_policy({.learning_rate = 3e-3}, 6);
  REQUIRE(flat);
  double first = 0, last = 0;
  for (int k = 0; k < 400; ++k) {
    double expected = 0;
    if (k % 100 == 0)
      for (const PolicyExample& e : all) expected += divergence(*(*flat)->network(), e, 0.3) / 8;
    const auto stats = (*flat)->imitate(batch, 0.3);
    REQUIRE(stats);
    if (k % 100 == 0) CHECK(stats->loss == doctest::Approx(expected).epsilon(1e-3));
    if (k == 0) first = stats->loss;
    last = stats->loss;
  }
  CHECK(last < 0.05 * first);
  const PolicyExample large = example(random, 7);
  CHECK((*flat)->imitate(std::vector<const PolicyExample*>{&large}, 0.3).error().code == Errc::out_of_range);
  CHECK_FALSE(make_flat_policy({}, 0));
}

TEST_CASE("the flat network: a cost draws the choice to where the sum of cross-entropy and mean cost is least") {
  Random random(7);
  PolicyExample e = example(random, 4);
  e.state.valid.assign(4, 1);
  e.tried = {1, 1, 0, 0};
  e.target = {0.5F, 0.5F, 0.0F, 0.0F};
  e.cost = {2.0F, 0.0F, 9.0F, 9.0F};
  const std::vector<const PolicyExample*> batch{&e};
  // d/dx of the loss over p = sigmoid(x): (p - 1/2) + 2 p (1 - p) = 0.
  const double wanted = (3 - std::sqrt(5.0)) / 4;
  const auto flat = make_flat_policy({.seed = 2, .learning_rate = 3e-3}, 4);
  REQUIRE(flat);
  for (int k = 0; k < 400; ++k) REQUIRE((*flat)->imitate(batch, 0.3));
  const auto all = q(*(*flat)->network(), e.state);
  const double chosen = 1 / (1 + std::exp((static_cast<double>(all[1]) - static_cast<double>(all[0])) / 0.3));
  CHECK(chosen == doctest::Approx(wanted).epsilon(0.01));
}

}  // namespace wattle::models
