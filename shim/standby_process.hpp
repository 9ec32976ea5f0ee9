// standby_process: the loop of the standby's process (standby.hpp). Returns when the shim ends.
// Errors   none: a connection that sends no whole request in time is closed
// Threads  the process has one
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/clock.hpp"
#include "common/dir.hpp"
#include "common/log.hpp"

namespace wattle::shim {

// Bytes of the body that a request's header announces; 0: none, or not a number.
std::uint64_t body_bytes(std::string_view head);
// Answer to a whole request, with its header.
std::string standby_reply(std::string_view request);

void run_standby(const Fd& link, const Clock& clock, const Log& log);

}  // namespace wattle::shim
