// student_file: reads a network that moves the margin of a node's fast loop from what the node alone sees.
// Source   safetensors written by `wattle-sim teach --student-out`; metadata provisioning (student), layout (kLayout)
//          and network_sha256
// Errors   not_found, denied, io: the file; malformed: damaged, of another shape, weights that may overflow, or
//          metadata missing; conflict: another layout, or a teacher's; each names the file
// Threads  pure except for reading the file; the network is immutable
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "common/result.hpp"
#include "models/frozen/q_network.hpp"

namespace wattle::models::provision {

using Network = std::shared_ptr<const QNetwork>;

Result<Network> parse_student(std::string_view bytes, const std::string& file);
Result<Network> read_student(const std::string& file);

}  // namespace wattle::models::provision
