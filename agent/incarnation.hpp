// incarnation: a number that rises at each start of the agent on this node, so that its records are never taken for
// older ones.
// Source   <state_dir>/incarnation, one decimal number, written atomically
// Gives    the largest of the last one + 1, the Unix time in seconds and `at_least`: a lost or damaged file, or a clock that
//          was set back, still rises
// Errors   denied or io when it cannot be kept
// Threads  single owner
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/clock.hpp"
#include "common/result.hpp"

namespace wattle::agent {

// The directory for what outlives the agent, made if it is not there.
Status make_state_dir(const std::string& state_dir);

struct Incarnation {
  std::uint64_t number = 0;
  std::optional<Error> healed;  // what was wrong with the file, which is written anew
};
Result<Incarnation> next_incarnation(const std::string& state_dir, WallTime now, std::uint64_t at_least = 0);

}  // namespace wattle::agent
