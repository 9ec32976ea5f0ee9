// kept_output: shortens the output of a driver for an error: keeps its end, in printable characters, without secrets.
// Errors   none
// Threads  pure
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace wattle::controller::power {

// Replaces each secret, and the forms that JSON and base64 give it, by "***".
std::string redact(std::string text, const std::vector<std::string>& secrets);

// The last kMostOutputBytes, on one line.
std::string kept_output(std::string_view text);

// "WHAT: OUTPUT"; only WHAT if there is no output.
std::string with_output(std::string what, std::string_view output);

}  // namespace wattle::controller::power
