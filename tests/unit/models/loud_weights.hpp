// loud_weights: an untrained network in which every part affects the output.
#pragma once

#include <random>

#include "models/frozen/layout.hpp"

namespace wattle::test {

inline models::Weights loud_weights() {
  models::Weights weights = models::initial_weights(5);
  std::mt19937_64 random(11);
  std::normal_distribution<float> noise(0.0F, 0.2F);
  for (auto& [name, tensor] : weights)
    for (float& value : tensor.values) value += noise(random);
  return weights;
}

}  // namespace wattle::test
