// Checks that no other user can replace or enter a folder that a command will fill with keys or start programs from.
// Source   the owners and modes of the folder, of every folder above it and of all symbolic links on the path
// Rules    each belongs to root or to this process's user; one that others may write to is sticky, like /tmp; the
//          folder itself, if it exists, is a directory of this user, and not a link
// Errors   denied: names the part that breaks a rule, and the fix; io
// Threads  any
#pragma once

#include <string>

#include "common/result.hpp"

namespace wattle::cli {

// `path` is absolute. Missing parts are not checked.
Status check_own_path(const std::string& path);

}  // namespace wattle::cli
