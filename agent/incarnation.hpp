// incarnation: a number that increases at each start of the agent on this node, so that new records are never mistaken
// for older ones.
// Source   <state_dir>/incarnation, one decimal number, written atomically
// Gives    the largest of the last one + 1, the Unix time in seconds and `at_least`, so that it increases even if the
//          file is lost or damaged, or the clock was set back
// Full     a disk without room does not keep a node from being measured: the number is valid but not kept
// Errors   denied or io if the file cannot be written for another reason
// Threads  single owner
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/clock.hpp"
#include "common/result.hpp"

namespace wattle::agent {

// Creates the directory for the agent's persistent state if it is missing.
Status make_state_dir(const std::string& state_dir);

struct Incarnation {
  std::uint64_t number = 0;
  std::optional<Error> healed;    // the problem of a file that was rewritten
  std::optional<Error> not_kept;  // why it could not be written; the next start may choose the same within a second
};
Result<Incarnation> next_incarnation(const std::string& state_dir, WallTime now, std::uint64_t at_least = 0);

}  // namespace wattle::agent
