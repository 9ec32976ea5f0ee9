// gzip: decompresses a whole gzip member in memory. The only user of zlib.
// Errors   malformed: not gzip, damaged, truncated or followed by other data; out_of_range: more than max_bytes. Both
//          name `subject`
// Threads  pure function
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "common/result.hpp"

namespace wattle::sim::consolidation {

Result<std::string> gunzip(std::string_view bytes, const std::string& subject, std::size_t max_bytes);

}  // namespace wattle::sim::consolidation
