#include "models/torch/adam.hpp"

#include <array>
#include <cassert>
#include <cmath>

namespace wattle::models {

double norm(std::span<const float> gradient) {
  // Eight parallel sums: a single sum in doubles would wait for each addition.
  std::array<double, 8> sums{};
  std::size_t i = 0;
  for (; i + 8 <= gradient.size(); i += 8)
    for (std::size_t k = 0; k < 8; ++k) {
      const double g = static_cast<double>(gradient[i + k]);
      sums[k] += g * g;
    }
  double total = 0;
  for (const double sum : sums) total += sum;
  for (; i < gradient.size(); ++i) total += static_cast<double>(gradient[i]) * static_cast<double>(gradient[i]);
  return std::sqrt(total);
}

void adam_step(std::span<float> weights, std::span<const float> gradient, float scale, double learning_rate,
               AdamState& state) {
  assert(gradient.size() == weights.size() && state.mean.size() == weights.size() &&
         state.square.size() == weights.size());
  constexpr double kBeta1 = 0.9;
  constexpr double kBeta2 = 0.999;
  constexpr float kKeep1 = static_cast<float>(kBeta1);
  constexpr float kKeep2 = static_cast<float>(kBeta2);
  constexpr float kTake1 = static_cast<float>(1 - kBeta1);
  constexpr float kTake2 = static_cast<float>(1 - kBeta2);
  constexpr float kEpsilon = 1e-8F;
  ++state.step;
  const double t = static_cast<double>(state.step);
  const float rate = static_cast<float>(learning_rate / (1 - std::pow(kBeta1, t)));
  const float unbias = static_cast<float>(1 / std::sqrt(1 - std::pow(kBeta2, t)));
  float* __restrict w = weights.data();
  const float* __restrict g = gradient.data();
  float* __restrict m = state.mean.data();
  float* __restrict v = state.square.data();
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const float gi = g[i] * scale;
    m[i] = kKeep1 * m[i] + kTake1 * gi;
    v[i] = kKeep2 * v[i] + kTake2 * gi * gi;
    w[i] -= rate * m[i] / (std::sqrt(v[i]) * unbias + kEpsilon);
  }
}

void follow(std::span<float> target, std::span<const float> online, double share) {
  assert(target.size() == online.size());
  const float s = static_cast<float>(share);
  float* __restrict to = target.data();
  const float* __restrict from = online.data();
  for (std::size_t i = 0; i < target.size(); ++i) to[i] += s * (from[i] - to[i]);
}

}  // namespace wattle::models
