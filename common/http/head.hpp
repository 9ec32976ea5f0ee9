// head: rejects request headers that two parsers could read differently. If they disagree on where a message ends, a
// second request can be smuggled inside the first.
// Source   RFC 9112: 2.2 (lines), 3.2 (Host), 5.2 (folded fields), 6.1 (Transfer-Encoding); RFC 9110: 10.1.4 (TE)
// Errors   none: returns the fault as text, or no value if there is none
// Threads  pure
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace wattle::http {

// Size of the header at the start of `bytes`, including its empty line; no value if it is incomplete.
std::optional<std::size_t> head_bytes(std::string_view bytes);

// Converts ASCII letters only.
std::string lower_case(std::string_view text);

// Checks a whole header as received.
std::optional<std::string> wrong_with(std::string_view head);

}  // namespace wattle::http
