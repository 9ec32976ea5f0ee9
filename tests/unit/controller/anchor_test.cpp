// anchor: pulls the learning network towards the choices of the last trusted network. Without a trusted network it does
// nothing.
#include "controller/trainer/anchor.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "models/frozen/frozen_network.hpp"
#include "models/frozen/layout.hpp"

using namespace wattle;
using namespace wattle::controller;

namespace {

// Records the examples that it is asked to imitate.
class Architecture final : public models::PolicyTrainer {
 public:
  Result<models::StepStats> step(std::span<const models::Transition* const>) override { return models::StepStats{}; }
  Result<models::PolicyStats> imitate(std::span<const models::PolicyExample* const> batch,
                                      double temperature) override {
    ++asked;
    at = temperature;
    shown.clear();
    for (const models::PolicyExample* each : batch) shown.push_back(*each);
    return models::PolicyStats{};
  }
  std::uint64_t steps() const override { return 0; }
  models::Weights weights() const override { return {}; }
  models::Weights checkpoint() const override { return {}; }
  Status restore(const models::Weights&) override { return {}; }

  std::size_t asked = 0;
  double at = 0;
  std::vector<models::PolicyExample> shown;
};

models::Transition at_node(float feature) {
  models::Transition transition;
  transition.state.nodes = 3;
  transition.state.node.assign(3 * models::kNodeFeatures, feature);
  for (std::size_t i = 0; i < 3; ++i) transition.state.node[i * models::kNodeFeatures + 1] = static_cast<float>(i);
  transition.state.prior = {0.1F, 0.4F, 5.0F};
  transition.state.valid = {1, 1, 0};
  return transition;
}

// Weights that give each node a score different from zero.
models::Weights nonzero_weights() {
  models::Weights weights = models::initial_weights(5);
  for (auto& [name, tensor] : weights)
    for (float& value : tensor.values) value += 0.01F;
  return weights;
}

}  // namespace

TEST_CASE("after each step the learner is trained on the trusted network's choices in the same states") {
  Architecture pupil;
  Anchor anchor(pupil);
  std::vector<models::Transition> batch{at_node(0.5F), at_node(0.25F)};
  batch.push_back(at_node(0.1F));
  batch.back().state.valid = {0, 0, 0};  // no candidate to choose
  REQUIRE(anchor.stepped(batch));
  CHECK(pupil.asked == 0);  // no network is trusted
  const models::Weights weights = nonzero_weights();
  REQUIRE(anchor.trust(weights));
  for (int i = 0; i < 2; ++i) REQUIRE(anchor.stepped(batch));
  CHECK(pupil.asked == 2);
  REQUIRE(pupil.shown.size() == 2);
  const auto network = models::FrozenNetwork::from_weights(weights, 0).value();
  for (std::size_t k = 0; k < 2; ++k) {
    const models::PolicyExample& shown = pupil.shown[k];
    std::vector<float> residual(3, 0.0F);
    network->residual(batch[k].state, residual);
    const double apart = static_cast<double>(0.4F + residual[1]) - static_cast<double>(0.1F + residual[0]);
    CHECK(shown.target[1] / shown.target[0] == doctest::Approx(std::exp(apart / pupil.at)).epsilon(1e-3));
    CHECK(shown.target[0] + shown.target[1] == doctest::Approx(1));
    CHECK(shown.target[2] == 0);
    CHECK(shown.tried == batch[k].state.valid);
    CHECK(shown.state.node == batch[k].state.node);
  }
}

TEST_CASE("malformed weights are refused, and the previously trusted network stays in use") {
  Architecture pupil;
  Anchor anchor(pupil);
  REQUIRE(anchor.trust(nonzero_weights()));
  models::Weights damaged = nonzero_weights();
  damaged.erase(damaged.begin());
  CHECK_FALSE(anchor.trust(damaged));
  CHECK(anchor.holds());
}
