// student_file: a network that moves the margin of a node's fast loop from what the node sees alone, in a file.
// Source   safetensors as `wattle-sim teach --student-out` writes them; metadata provisioning (student), layout (kLayout) and
//          network_sha256
// Errors   not_found, denied, io: the file; malformed: damaged, of another shape, with weights that overflow, or it does not tell what it is; conflict: of another
//          layout, or a teacher's; each names the file
// Threads  pure but for reading the file; the network is immutable
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
