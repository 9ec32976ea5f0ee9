// former_layout: the layout that had fewer inputs. Networks of it load and say the same of everything: inputs that it did not have weigh 0.
// New      at the end of what is known of a node, of the pod and of the context; the pod's lie between others of ask.weight
// Identity a network that hears no new input has the digest that it had in its former file (models/frozen/pretrained)
// Begin    weights that are drawn do not hear new inputs at first; they are learned like any
// Threads  pure functions
#pragma once

#include <cstddef>
#include <string_view>

#include "models/frozen/layout.hpp"
#include "models/frozen/q_network.hpp"

namespace wattle::models {

inline constexpr std::size_t kFormerNodeFeatures = 32, kFormerPodFeatures = 16, kFormerContextFeatures = 8;
// Of the features (placement/features), then and now. Whoever changes features again begins another pair.
inline constexpr std::string_view kFormerSchema = "570254e1cdd23e33", kSchemaSince = "aa335030dd3ecbfc";

// Whether networks of a file can be read where features are of the schema `here`.
constexpr bool reads_schema(std::string_view of_file, std::string_view here) {
  return of_file == here || (of_file == kFormerSchema && here == kSchemaSince);
}

// Whether that row of the tensor is of an input that is new.
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

// As the former layout had it: with rows of 0 for what is new. Anything else stays as it is.
Tensor widened(const TensorSpec& spec, const Tensor& tensor);
// The other way, where all that is new weighs 0. Anything else stays as it is.
Weights narrowed(Weights weights);

// Experience that is kept as tensors prefix + node (of so many nodes a row), pod and context: is it of the former layout, and as it is now,
// with 0 for what is new.
bool is_former_experience(const Weights& kept, std::string_view prefix, std::size_t nodes = 1);
void widen_experience(Weights& kept, std::string_view prefix);

}  // namespace wattle::models
