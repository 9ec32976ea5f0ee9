#include "provision/minute/student_file.hpp"

#include <algorithm>
#include <cmath>

#include "common/dir.hpp"
#include "models/frozen/frozen_network.hpp"
#include "models/frozen/pretrained.hpp"
#include "provision/minute/choice.hpp"

namespace wattle::models::provision {

namespace {
// Inputs are at most 5, so with weights within this limit no sum overflows and the output is finite.
constexpr float kMostWeight = 1e4F;
constexpr const char* kAnew = "train a student with this version: wattle-sim teach --student-out FILE";
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
  const auto reported = [&](const char* key) {
    const auto found = model.metadata.find(key);
    return found == model.metadata.end() ? std::string() : found->second;
  };
  for (const char* key : {"provisioning", "layout", "network_sha256"})
    if (reported(key).empty()) return fail(Errc::malformed, file, std::string("does not contain its ") + key, kAnew);
  if (reported("provisioning") != "student")
    return fail(Errc::conflict, file,
                "is a " + reported("provisioning") + "'s network, whose inputs a node does not have", kAnew);
  if (reported("layout") != kLayout)
    return fail(Errc::conflict, file,
                "was trained on other inputs (layout " + reported("layout") + ", but this version needs " +
                    std::string(kLayout) + ")",
                kAnew);
  WATTLE_TRY(const Network network, FrozenNetwork::from_weights(model.tensors, 0, file));
  for (const auto& [name, tensor] : model.tensors)
    if (std::ranges::any_of(tensor.values, [](float value) { return std::abs(value) > kMostWeight; }))
      return fail(Errc::malformed, file,
                  "tensor " + name + " has a weight above 10000, which could make the output infinite", kAnew);
  if (network_digest(model.tensors) != reported("network_sha256"))
    return fail(Errc::malformed, file, "is damaged: its weights do not match its network_sha256", kAnew);
  return network;
}

Result<Network> read_student(const std::string& file) {
  WATTLE_TRY(const std::string bytes, read_file(file, kMaxStudentBytes));
  return parse_student(bytes, file);
}

}  // namespace wattle::models::provision
