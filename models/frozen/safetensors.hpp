// safetensors: converts named tensors and text metadata to bytes and back, in the safetensors format.
// Source   8 bytes little-endian length of the header, JSON header {"name": {"dtype", "shape", "data_offsets"}, ...,
//          "__metadata__": {text: text}}, then the values, little-endian and contiguous
// Limits   header 1 MiB, 8 dimensions, dtype F32 only; data without gaps, overlaps or trailing bytes
// Errors   malformed or unsupported, naming the subject (for example a file) and the tensor
// Threads  any; pure
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "common/result.hpp"
#include "models/frozen/q_network.hpp"

namespace wattle::models {

struct Safetensors {
  Weights tensors;
  std::map<std::string, std::string> metadata;
};

// The shape of each tensor must match its number of values. Equal content gives equal bytes.
std::string to_safetensors(const Safetensors& content);

Result<Safetensors> parse_safetensors(std::string_view bytes, const std::string& subject);

}  // namespace wattle::models
