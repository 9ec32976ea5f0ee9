// overwrite: writes over a file where it is, for what has to be changed while the disk is full.
// Limits   no new file and no new block: the content may not need more room than the file has. A crash meanwhile may leave it half written,
//          so call it only where write_file_atomically() is `exhausted`
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
