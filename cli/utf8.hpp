// utf8: code points of a text, and the columns that it takes on a terminal.
// Errors   none: a byte that belongs to no character counts as U+FFFD
// Threads  any
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace wattle::cli {

// The code point at the front of `text`, which must not be empty, and takes it off.
char32_t take_code_point(std::string_view& text);
void append_utf8(std::string& out, char32_t code_point);
// 0 for combining marks, 2 for East Asian wide characters and emoji, else 1.
std::size_t display_width(std::string_view text);
// Control characters become '?', so that nobody's pod name moves the cursor.
std::string printable(std::string_view text);
// As printable, and keeps the ends of lines.
std::string printable_lines(std::string_view text);

}  // namespace wattle::cli
