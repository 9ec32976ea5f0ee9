// make_network: the trainable network of this build.
// Errors   unsupported: built without libtorch; else as models/torch
// Threads  any
#pragma once

#include <memory>
#include <optional>

#include "common/result.hpp"
#include "controller/config.hpp"
#include "models/frozen/trainer.hpp"

namespace wattle::controller {

// A table has no use for weights of a network.
Result<std::unique_ptr<models::QTrainer>> make_network(const LearnConfig& config,
                                                       const std::optional<models::Weights>& initial = std::nullopt);

}  // namespace wattle::controller
