// student_file: file of a student, the network that moves the margin of a node's fast loop using only what the node
// sees.
// Source   safetensors written by a controller or by `wattle-sim teach --student-out`; metadata provisioning (student),
//          layout (kLayout) and network_sha256
// Errors   not_found, denied, io: the file; malformed: damaged, of another shape, weights that may overflow, or
//          metadata missing; conflict: another layout, or a teacher's; each names the file
// Threads  pure except for reading the file; the network is immutable
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "common/result.hpp"
#include "models/frozen/q_network.hpp"
#include "models/frozen/safetensors.hpp"

namespace wattle::models::provision {

using Network = std::shared_ptr<const QNetwork>;

inline constexpr std::size_t kMaxStudentBytes = std::size_t{1} << 20;

// Content of the file for these weights.
Safetensors student_model(const Weights& weights);
Result<Network> parse_student(std::string_view bytes, const std::string& file);
Result<Network> read_student(const std::string& file);

}  // namespace wattle::models::provision
