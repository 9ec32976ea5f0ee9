// arguments: the arguments of a query by name.
// Errors   malformed, with the name of the argument
// Threads  pure functions
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "common/clock.hpp"
#include "common/result.hpp"

namespace wattle::controller {

using Arguments = std::map<std::string, std::string>;

inline constexpr std::size_t kMostHistory = 1000;

// Returns the argument, or `otherwise` if it is not given.
std::string argument(const Arguments& arguments, const char* name, const std::string& otherwise = {});
// Fails if there is no such argument; `fix` describes the expected one.
Result<std::string> required(const Arguments& arguments, const char* name, const char* fix);
// Returns the argument `limit`, 1 to kMostHistory; `otherwise` is the default.
Result<std::size_t> parse_limit(const Arguments& arguments, std::size_t otherwise);
// Returns the start of the time span `since` before now, in Unix seconds; `otherwise` is the default span.
Result<std::int64_t> parse_since(const Arguments& arguments, const std::string& otherwise, WallTime now);

}  // namespace wattle::controller
