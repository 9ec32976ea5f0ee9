// error_line: the line that every program prints about an error: "PROGRAM: COMMAND: what failed: why (how to fix)".
// Errors   none
// Threads  pure
#pragma once

#include <string>
#include <string_view>

#include "common/result.hpp"

namespace wattle {

// "SUBJECT: what (fix)", without empty parts. Unlike Error::message(), it omits the code.
std::string error_text(const Error& error);

// The line without its end, safe for a terminal. `command` is empty for a program that has none.
std::string error_line(std::string_view program, std::string_view command, const Error& error);

}  // namespace wattle
