// target: parses and decodes an HTTP request target, "/path?query". Pure.
// Errors   malformed: no leading '/', an invalid %-escape, a NUL
// Threads  any
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "common/result.hpp"

namespace wattle::http {

struct Target {
  std::string path;                          // decoded
  std::map<std::string, std::string> query;  // decoded, '+' is a space; the last of duplicate keys; "?a" has a value ""
  std::string repeated;                      // a key that the query has twice; empty: none
};

Result<Target> parse_target(std::string_view text);

// Escapes everything but letters, digits and "-._~", for use in a query or a path segment.
std::string percent_encode(std::string_view text);

}  // namespace wattle::http
