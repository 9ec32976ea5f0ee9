// make_network: makes the trainable network of this build.
// Errors   unsupported: built without libtorch; otherwise those of models/torch
// Threads  any
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "common/result.hpp"
#include "controller/config.hpp"
#include "models/frozen/trainer.hpp"

namespace wattle::controller {

// A table ignores `initial`.
Result<std::unique_ptr<models::QTrainer>> make_network(const LearnConfig& config,
                                                       const std::optional<models::Weights>& initial = std::nullopt);

// Makes the provisioning network, for the teacher or a student.
Result<std::unique_ptr<models::PolicyTrainer>> make_provisioning_network(std::uint64_t seed);

}  // namespace wattle::controller
