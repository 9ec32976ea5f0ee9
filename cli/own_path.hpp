// Checks that no other user can replace or enter a folder that a command is about to fill with keys and start programs from.
// Source   the owners and modes of the folder, of every folder above it and of the symbolic links on the way
// Rules    each belongs to root or to this process's user; one that others may write to is sticky, as /tmp is; the folder itself, where
//          it exists, is a directory of this user, and no link
// Errors   denied: names the part that breaks a rule, and the fix; io
// Threads  any
#pragma once

#include <string>

#include "common/result.hpp"

namespace wattle::cli {

// `path` is absolute. What does not exist yet is not checked.
Status check_own_path(const std::string& path);

}  // namespace wattle::cli
