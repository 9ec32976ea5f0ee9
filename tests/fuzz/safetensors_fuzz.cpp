// Safetensors: any bytes load or are refused; a loaded file survives a round trip.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "models/frozen/frozen_network.hpp"
#include "models/frozen/safetensors.hpp"

namespace {

// Half of the inputs are used unchanged. The others are header text and values, split at the first line end, with the
// length added in front, which a fuzzer rarely guesses.
std::string file_of(std::string_view input) {
  if (input.empty() || input[0] % 2 != 0) return std::string(input);
  input.remove_prefix(1);
  const std::uint64_t length = std::min(input.find('\n'), input.size());
  std::string file(sizeof(length), '\0');
  std::memcpy(file.data(), &length, sizeof(length));
  return file.append(input.substr(0, length)).append(input.substr(std::min<std::size_t>(length + 1, input.size())));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wattle::models;
  const auto parsed = parse_safetensors(file_of({reinterpret_cast<const char*>(data), size}), "fuzz");
  if (!parsed) return 0;
  const auto again = parse_safetensors(to_safetensors(*parsed), "fuzz");
  if (!again || again->metadata != parsed->metadata || again->tensors.size() != parsed->tensors.size()) std::abort();
  for (const auto& [name, tensor] : parsed->tensors) {
    const Tensor& other = again->tensors.at(name);
    // Compares bits, because NaN is a valid value here.
    if (other.shape != tensor.shape || other.values.size() != tensor.values.size()) std::abort();
    if (!tensor.values.empty() &&
        std::memcmp(other.values.data(), tensor.values.data(), tensor.values.size() * sizeof(float)) != 0)
      std::abort();
  }
  if (FrozenNetwork::from_weights(parsed->tensors, 0, "fuzz") && parsed->tensors.empty()) std::abort();
  return 0;
}
