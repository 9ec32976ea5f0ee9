// incarnation: a number that rises at each start of the agent on this node, so that its records are never taken for
// older ones. Source   <state_dir>/incarnation, one decimal number, written atomically Gives    the larger of the last
// one + 1 and the Unix time in seconds: a lost file, or a clock that was set back, still rises Errors   malformed
// (names the file); denied or io when it cannot be kept Threads  single owner
#pragma once

#include <cstdint>
#include <string>

#include "common/clock.hpp"
#include "common/result.hpp"

namespace wattle::agent {

Result<std::uint64_t> next_incarnation(const std::string& state_dir, WallTime now);

}  // namespace wattle::agent
