// overwrite: overwrites a file in place, for changes that must succeed while the disk is full.
// Limits   creates no file and allocates no block, so the content must fit into the file's blocks. A crash may leave
//          the file half written: call it only after write_file_atomically() fails with `exhausted`
// Errors   not_found, denied, exhausted, io
// Threads  any
#pragma once

#include <string>
#include <string_view>

#include "common/result.hpp"

namespace wattle {

// Durable when it returns.
Status overwrite_in_place(const std::string& path, std::string_view content);

}  // namespace wattle
