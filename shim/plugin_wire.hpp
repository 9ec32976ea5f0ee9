// plugin_wire: messages between the scheduler plugin (scheduler/) and the shim. Pure.
// Source   a frame is four bytes of length, most significant first, and a msgpack array [version, kind, request_id,
//          field, ...]. docs/reference/wire.md has the fields. As on the wire, unknown fields at the end are skipped,
//          and missing ones keep their defaults
// Units    requests in cores, scores integers 0..10
// Errors   malformed or out_of_range; the subject is the field's path
// Threads  pure functions
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/result.hpp"

namespace wattle::shim {

inline constexpr std::uint64_t kPluginVersion = 1;
inline constexpr std::size_t kPluginFrameBytes = 4 << 20;  // 5,000 names and a pod need 1.5 MB at most
inline constexpr std::size_t kPluginLengthBytes = 4;

enum class PluginKind : std::uint8_t { nodes_wanted = 1, nodes = 2, scores_wanted = 3, scores = 4, refusal = 5 };

// Asks for the board's best nodes for a pod of this size.
struct NodesWanted {
  std::uint64_t request_id = 0;
  double cpu_request_cores = 0;
  std::uint64_t most = 0;
};

// Asks for the scores of a pod's candidates, as the extender's verb prioritize does.
struct ScoresWanted {
  std::uint64_t request_id = 0;
  std::string pod;  // a v1.Pod as JSON
  std::vector<std::string> candidates;
};

using PluginRequest = std::variant<NodesWanted, ScoresWanted>;

// Number of bytes of the frame's message.
Result<std::size_t> plugin_length(std::string_view four_bytes);
Result<PluginRequest> decode_plugin_request(std::string_view message);
// Whole frames. An empty list of nodes means that the board cannot name any.
std::string encode_nodes(std::uint64_t request_id, std::span<const std::string> nodes);
std::string encode_scores(std::uint64_t request_id, std::span<const std::int64_t> scores);
std::string encode_plugin_refusal(const Error& error);  // its request_id is 0

}  // namespace wattle::shim
