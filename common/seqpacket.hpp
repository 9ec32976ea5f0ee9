// seqpacket: a client of a local socket that speaks in whole messages.
// Source   AF_UNIX SOCK_SEQPACKET (unix(7)); never waits but where told
// Errors   unavailable: nobody listens there; denied; io
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
// The next message, which must not be longer than `max_bytes`; absent: none within `timeout`.
Result<std::optional<std::string>> receive_packet(const Fd& peer, std::size_t max_bytes,
                                                  std::chrono::milliseconds timeout);

}  // namespace wattle
