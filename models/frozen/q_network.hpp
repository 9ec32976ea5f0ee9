// q_network: the interface between decisions and the computation of Q. Independent of any framework.
// Shapes   node features [nodes x kNodeFeatures] row-major, pod [kPodFeatures], context [kContextFeatures], per-node
//          outputs [nodes]
// Units    reward units; Q(node) = prior(node) + residual(node)
// Threads  QNetwork is immutable: residual() from any thread at once
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace wattle::models {

inline constexpr std::size_t kNodeFeatures = 36;
inline constexpr std::size_t kPodFeatures = 17;
inline constexpr std::size_t kContextFeatures = 9;

// A decision as input of the network. Masked nodes take no part in pooling, advantage mean or argmax.
struct Observation {
  std::size_t nodes = 0;
  std::vector<float> node;  // [nodes x kNodeFeatures]
  std::array<float, kPodFeatures> pod{};
  std::array<float, kContextFeatures> context{};
  std::vector<float> prior;         // [nodes], -(predicted marginal cost)
  std::vector<std::uint8_t> valid;  // [nodes], 1 = feasible
};

class QNetwork {
 public:
  virtual ~QNetwork() = default;
  // Writes [nodes]; 0 for invalid nodes. All finite for finite input.
  virtual void residual(const Observation& observation, std::span<float> out) const = 0;
  virtual std::uint64_t step() const = 0;  // gradient steps behind these weights
  // false: it was trained with a prior of 0, so its output is Q.
  virtual bool on_prior() const { return true; }
};

// Returns whether all valid nodes have the same output, so that it does not affect the choice.
inline bool is_flat(const Observation& observation, std::span<const float> said) {
  std::size_t first = observation.nodes;
  for (std::size_t i = 0; i < observation.nodes; ++i) {
    if (observation.valid[i] == 0) continue;
    if (first == observation.nodes) first = i;
    if (said[i] < said[first] || said[i] > said[first]) return false;
  }
  return true;
}

struct Tensor {
  std::vector<std::int64_t> shape;
  std::vector<float> values;  // row-major
};
using Weights = std::map<std::string, Tensor>;

}  // namespace wattle::models
