// layout: the tensors of the network by name, shape and position; the one table that serving and training share.
// Shapes   weights are [in x out] row-major, biases [out]; flat: all tensors in table order
// Errors   malformed, naming the tensor that is missing, unknown, of another shape or not finite
// Threads  any
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "common/result.hpp"
#include "models/frozen/aligned.hpp"
#include "models/frozen/q_network.hpp"

namespace wattle::models {

inline constexpr std::size_t kHidden = 64;
inline constexpr std::size_t kAskFeatures = kPodFeatures + kContextFeatures;  // pod, then context
inline constexpr std::size_t kShared = 3 * kHidden;                           // [mean, max, ask] embeddings

struct TensorSpec {
  std::string_view name;
  std::size_t rows;  // 0 for a vector
  std::size_t cols;
  constexpr std::size_t size() const { return (rows == 0 ? 1 : rows) * cols; }
};

enum class Part : std::size_t {
  node_0_weight,
  node_0_bias,
  node_1_weight,
  node_1_bias,
  ask_weight,
  ask_bias,
  advantage_node_weight,
  advantage_shared_weight,
  advantage_bias,
  advantage_out_weight,
  value_weight,
  value_bias,
  value_out_weight,
  value_out_bias,
};

// The advantage has no output bias: subtracting the mean would cancel it.
inline constexpr std::array<TensorSpec, 14> kLayout{{
    {"node.0.weight", kNodeFeatures, kHidden},
    {"node.0.bias", 0, kHidden},
    {"node.1.weight", kHidden, kHidden},
    {"node.1.bias", 0, kHidden},
    {"ask.weight", kAskFeatures, kHidden},
    {"ask.bias", 0, kHidden},
    {"advantage.node.weight", kHidden, kHidden},
    {"advantage.shared.weight", kShared, kHidden},
    {"advantage.bias", 0, kHidden},
    {"advantage.out.weight", 0, kHidden},
    {"value.weight", kShared, kHidden},
    {"value.bias", 0, kHidden},
    {"value.out.weight", 0, kHidden},
    {"value.out.bias", 0, 1},
}};

constexpr std::size_t offset_of(Part part) {
  std::size_t offset = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(part); ++i) offset += kLayout[i].size();
  return offset;
}
inline constexpr std::size_t kParameters = offset_of(Part::value_out_bias) + 1;

// Expects exactly the tensors of kLayout, with `prefix` before each name. Errors name `subject`, for example a file.
Result<AlignedFloats> flatten(const Weights& weights, const std::string& subject, std::string_view prefix = {});
// Inverse of flatten(); flat is [kParameters]. Adds to `weights`, with `prefix` before each name.
void unflatten(std::span<const float> flat, std::string_view prefix, Weights& weights);

// Uniform in +-1/sqrt(in), as usual for dense layers; both output layers are 0, so that the residual is exactly 0
// and the prior alone decides until something is learned. The same seed gives the same weights on every machine.
Weights initial_weights(std::uint64_t seed);

}  // namespace wattle::models
