// torch_rig: trainers, and observations to train on.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "models/frozen/frozen_network.hpp"
#include "models/torch/torch_trainer.hpp"
#include "observations.hpp"

namespace wattle::models::test {

inline std::unique_ptr<QTrainer> trainer(const TrainerOptions& options = {},
                                         std::optional<Weights> initial = std::nullopt) {
  auto made = make_torch_trainer(options, initial);
  REQUIRE(made);
  return std::move(*made);
}

inline std::shared_ptr<const FrozenNetwork> frozen(const QTrainer& t) {
  auto made = FrozenNetwork::from_weights(t.weights(), t.steps());
  REQUIRE(made);
  return *made;
}

inline std::vector<float> q(const QNetwork& network, const Observation& o) {
  auto all = residual(network, o);
  for (std::size_t i = 0; i < o.nodes; ++i) all[i] += o.prior[i];
  return all;
}

inline std::uint32_t random_action(Random& random, const Observation& o) {
  for (;;)
    if (const auto i = static_cast<std::uint32_t>(random() % o.nodes); o.valid[i] != 0) return i;
}

inline Transition transition(Random& random) {
  Transition t;
  t.state = observation(random, 1 + random() % 12);
  t.action = random_action(random, t.state);
  t.reward = uniform(random, -1, 1);
  t.discount = 0.9F;
  t.next = observation(random, 1 + random() % 12);
  return t;
}

inline std::vector<Transition> transitions(std::uint64_t seed, std::size_t count) {
  Random random(seed);
  std::vector<Transition> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(transition(random));
  return all;
}

inline std::vector<const Transition*> pointers(const std::vector<Transition>& all) {
  std::vector<const Transition*> batch;
  for (const Transition& t : all) batch.push_back(&t);
  return batch;
}

inline double huber(double error) { return std::abs(error) < 1 ? 0.5 * error * error : std::abs(error) - 0.5; }

}  // namespace wattle::models::test
