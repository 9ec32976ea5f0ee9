#include "models/provision/student_file.hpp"

#include <algorithm>
#include <cmath>

#include "common/dir.hpp"
#include "models/frozen/frozen_network.hpp"
#include "models/frozen/pretrained.hpp"
#include "models/provision/choice.hpp"

namespace wattle::models::provision {

namespace {
// Inputs are at most 5, so with weights within this limit no sum overflows and the output is finite.
constexpr float kMostWeight = 1e4F;
constexpr const char* kAnew = "teach one with this version: wattle-sim teach --student-out FILE";
}  // namespace

Safetensors student_model(const Weights& weights) {
  Safetensors model{weights, {}};
  model.metadata["network_sha256"] = network_digest(weights);
  model.metadata["provisioning"] = "student";
  model.metadata["layout"] = kLayout;
  return model;
}

Result<Network> parse_student(std::string_view bytes, const std::string& file) {
  WATTLE_TRY(const Safetensors model, parse_safetensors(bytes, file));
  const auto told = [&](const char* key) {
    const auto found = model.metadata.find(key);
    return found == model.metadata.end() ? std::string() : found->second;
  };
  for (const char* key : {"provisioning", "layout", "network_sha256"})
    if (told(key).empty()) return fail(Errc::malformed, file, std::string("does not tell its ") + key, kAnew);
  if (told("provisioning") != "student")
    return fail(Errc::conflict, file,
                "is a " + told("provisioning") + "'s network: a node does not see what that goes by", kAnew);
  if (told("layout") != kLayout)
    return fail(Errc::conflict, file,
                "was taught on other inputs (layout " + told("layout") + ", here " + std::string(kLayout) + ")", kAnew);
  WATTLE_TRY(const Network network, FrozenNetwork::from_weights(model.tensors, 0, file));
  for (const auto& [name, tensor] : model.tensors)
    if (std::ranges::any_of(tensor.values, [](float value) { return std::abs(value) > kMostWeight; }))
      return fail(Errc::malformed, file,
                  "tensor " + name + " has a weight beyond 10000: what it says would be no number", kAnew);
  if (network_digest(model.tensors) != told("network_sha256"))
    return fail(Errc::malformed, file, "is damaged: its weights are not those of its network_sha256", kAnew);
  return network;
}

Result<Network> read_student(const std::string& file) {
  WATTLE_TRY(const std::string bytes, read_file(file, kMaxStudentBytes));
  return parse_student(bytes, file);
}

}  // namespace wattle::models::provision
