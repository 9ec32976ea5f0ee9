// models_safetensors_fuzz: any bytes are refused or read; what was read is written and read again as the same.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "models/frozen/frozen_network.hpp"
#include "models/frozen/safetensors.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wattle::models;
  const auto parsed = parse_safetensors({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!parsed) return 0;
  const auto again = parse_safetensors(to_safetensors(*parsed), "fuzz");
  if (!again || again->metadata != parsed->metadata || again->tensors.size() != parsed->tensors.size()) std::abort();
  for (const auto& [name, tensor] : parsed->tensors) {
    const Tensor& other = again->tensors.at(name);
    // Bit for bit: NaN is a value like any other here.
    if (other.shape != tensor.shape || other.values.size() != tensor.values.size()) std::abort();
    if (!tensor.values.empty() &&
        std::memcmp(other.values.data(), tensor.values.data(), tensor.values.size() * sizeof(float)) != 0)
      std::abort();
  }
  if (FrozenNetwork::from_weights(parsed->tensors, 0, "fuzz") && parsed->tensors.empty()) std::abort();
  return 0;
}
