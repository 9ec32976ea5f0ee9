// seqpacket: client of a local socket that exchanges whole messages.
// Source   AF_UNIX SOCK_SEQPACKET (unix(7)); blocks only where noted
// Errors   unavailable (no listener), denied, io
// Threads  single owner
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "common/dir.hpp"
#include "common/result.hpp"

namespace wattle {

Result<Fd> connect_seqpacket(const std::string& path);
Status send_packet(const Fd& peer, std::string_view message);
// Returns the next message, which must not be longer than `max_bytes`; no value if none arrives within `timeout`.
Result<std::optional<std::string>> receive_packet(const Fd& peer, std::size_t max_bytes,
                                                  std::chrono::milliseconds timeout);

}  // namespace wattle
