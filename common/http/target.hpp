// target: the request target of HTTP, "/path?query", taken apart and percent-decoded. Pure.
// Errors   malformed: not starting with '/', a broken %-escape, a NUL
// Threads  any
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "common/result.hpp"

namespace wattle::http {

struct Target {
  std::string path;                          // decoded
  std::map<std::string, std::string> query;  // decoded, '+' is a space; the last of equal keys wins; "?a" gives a = ""
};

Result<Target> parse_target(std::string_view text);

// Escapes everything but letters, digits and "-._~", for use in a query or a path segment.
std::string percent_encode(std::string_view text);

}  // namespace wattle::http
