// model_file: a network's weights in a safetensors file, with its origin as text metadata.
// Errors   not_found, denied, malformed, naming the file and the tensor
// Threads  any
#pragma once

#include <memory>
#include <string>

#include "common/result.hpp"
#include "models/frozen/frozen_network.hpp"
#include "models/frozen/safetensors.hpp"

namespace wattle::sim::commands {

// Writes any file named on a command line, also a device.
Status write_whole(const std::string& file, const std::string& text);

Result<models::Safetensors> read_model(const std::string& file);
// Rejects weights of another feature schema, if the file names one.
Result<std::shared_ptr<const models::FrozenNetwork>> read_network(const std::string& file);
// Reads the network of dqn or the table of tabular-q (placement/learn/tabular distinguishes them).
Result<std::shared_ptr<const models::QNetwork>> read_learned(const std::string& file);
Status write_model(const std::string& file, const models::Safetensors& model);

}  // namespace wattle::sim::commands
