// former_layout: reads networks of the previous layout, which had fewer inputs. They load and give the same results:
// the new inputs have weight 0.
// New      appended to the features of a node, of the pod and of the context; within ask.weight the pod's lie between
//          others
// Identity a network with weight 0 for all new inputs has the digest of its original file (models/frozen/pretrained)
// Begin    initial weights are 0 for new inputs, which are learned like all others
// Threads  pure functions
#pragma once

#include <cstddef>
#include <string_view>

#include "models/frozen/layout.hpp"
#include "models/frozen/q_network.hpp"

namespace wattle::models {

inline constexpr std::size_t kFormerNodeFeatures = 32, kFormerPodFeatures = 16, kFormerContextFeatures = 8;
// Schemas of the features (placement/worth/features) before and after the change. The next change of the features needs a new
// pair.
inline constexpr std::string_view kFormerSchema = "570254e1cdd23e33", kSchemaSince = "aa335030dd3ecbfc";

// Returns whether networks of a file can be read if the features have the schema `here`.
constexpr bool reads_schema(std::string_view of_file, std::string_view here) {
  return of_file == here || (of_file == kFormerSchema && here == kSchemaSince);
}

// Returns whether that row of the tensor belongs to a new input.
constexpr bool is_new_input(std::string_view tensor, std::size_t row) {
  if (tensor == "node.0.weight") return row >= kFormerNodeFeatures;
  if (tensor != "ask.weight") return false;
  return row < kPodFeatures ? row >= kFormerPodFeatures : row >= kPodFeatures + kFormerContextFeatures;
}
constexpr std::size_t former_rows(const TensorSpec& spec) {
  std::size_t rows = spec.rows;
  for (std::size_t row = 0; row < spec.rows; ++row) rows -= is_new_input(spec.name, row) ? 1 : 0;
  return rows;
}

// Inserts rows of 0 for new inputs into a tensor of the former layout. Returns any other tensor unchanged.
Tensor widened(const TensorSpec& spec, const Tensor& tensor);
// Removes the rows of new inputs if all their weights are 0. Returns any other weights unchanged.
Weights narrowed(Weights weights);

// Saved experience in the tensors prefix + node (with `nodes` nodes per row), pod and context: whether it has the
// former layout, and its conversion to the current one, with 0 for new inputs.
bool is_former_experience(const Weights& kept, std::string_view prefix, std::size_t nodes = 1);
void widen_experience(Weights& kept, std::string_view prefix);

}  // namespace wattle::models
