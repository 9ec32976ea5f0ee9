// head: what of a request's header is refused before anybody reads it as a request: where two readers may differ on where a message
// ends, a second one can be hidden in the first.
// Source   RFC 9112: 2.2 (lines), 3.2 (Host), 5.2 (folded fields), 6.1 (Transfer-Encoding); RFC 9110: 10.1.4 (TE)
// Errors   none: what is wrong, as a text; absent: nothing is
// Threads  pure
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace wattle::http {

// Bytes of the header that `bytes` begins with, its empty line included; absent: it is not all there.
std::optional<std::size_t> head_bytes(std::string_view bytes);

// ASCII letters alone.
std::string lower_case(std::string_view text);

// Of a whole header, as it came.
std::optional<std::string> wrong_with(std::string_view head);

}  // namespace wattle::http
