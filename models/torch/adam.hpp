// adam: optimiser step over all parameters, as plain loops over flat arrays: 37,000 floats take one pass through the
// cache, whereas an optimiser per tensor takes a hundred dispatches.
// Shapes   every array [n]
// Threads  single owner
#pragma once

#include <cstdint>
#include <span>

#include "models/frozen/aligned.hpp"

namespace wattle::models {

struct AdamState {
  AlignedFloats mean;    // mean of the gradient
  AlignedFloats square;  // mean of the squared gradient
  std::uint64_t step = 0;
};

double norm(std::span<const float> gradient);

// Kingma and Ba 2015 with betas 0.9 and 0.999, epsilon 1e-8; the gradient is multiplied by `scale` first.
void adam_step(std::span<float> weights, std::span<const float> gradient, float scale, double learning_rate,
               AdamState& state);

// target <- (1 - share) target + share online
void follow(std::span<float> target, std::span<const float> online, double share);

}  // namespace wattle::models
