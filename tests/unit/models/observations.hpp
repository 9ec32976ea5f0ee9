// observations: seeded random inputs and weights for the tests of models/.
// Threads  any
#pragma once

#include <algorithm>
#include <cmath>
#include <random>

#include "models/frozen/layout.hpp"
#include "models/frozen/q_network.hpp"

namespace wattle::models::test {

using Random = std::mt19937_64;

inline float uniform(Random& random, double low, double high) {
  return static_cast<float>(low + (high - low) * static_cast<double>(random() >> 11U) * 0x1p-53);
}

// At least one node is valid; each other one with probability `valid_ratio`.
inline Observation observation(Random& random, std::size_t nodes, double valid_ratio = 0.7) {
  Observation o;
  o.nodes = nodes;
  for (std::size_t i = 0; i < nodes * kNodeFeatures; ++i) o.node.push_back(uniform(random, -1, 1));
  for (float& v : o.pod) v = uniform(random, -1, 1);
  for (float& v : o.context) v = uniform(random, -1, 1);
  for (std::size_t i = 0; i < nodes; ++i) o.prior.push_back(uniform(random, -1, 0));
  for (std::size_t i = 0; i < nodes; ++i)
    o.valid.push_back(static_cast<double>(uniform(random, 0, 1)) < valid_ratio ? 1 : 0);
  o.valid[random() % nodes] = 1;
  return o;
}

// As after training: no layer is zero.
inline Weights weights(std::uint64_t seed) {
  Weights all = initial_weights(seed);
  Random random(seed);
  for (const char* name : {"advantage.out.weight", "value.out.weight", "value.out.bias"})
    for (float& v : all.at(name).values) v = uniform(random, -0.3, 0.3);
  return all;
}

inline Observation permuted(const Observation& o, const std::vector<std::size_t>& from) {
  Observation p = o;
  for (std::size_t i = 0; i < o.nodes; ++i) {
    std::copy_n(o.node.begin() + static_cast<std::ptrdiff_t>(from[i] * kNodeFeatures), kNodeFeatures,
                p.node.begin() + static_cast<std::ptrdiff_t>(i * kNodeFeatures));
    p.prior[i] = o.prior[from[i]];
    p.valid[i] = o.valid[from[i]];
  }
  return p;
}

inline std::vector<float> residual(const QNetwork& network, const Observation& o) {
  std::vector<float> out(o.nodes, std::nanf(""));
  network.residual(o, out);
  return out;
}

inline float largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  float largest = a.size() == b.size() ? 0 : INFINITY;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    largest = std::max(largest, std::isfinite(a[i] - b[i]) ? std::abs(a[i] - b[i]) : INFINITY);
  return largest;
}

}  // namespace wattle::models::test
