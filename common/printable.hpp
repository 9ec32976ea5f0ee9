// printable: text of others made fit for a terminal, a log and a page: the one place that does it.
// Why      a pod, node or peer chooses its name; what it chooses must not move a cursor, hide, look like something else, or
//          turn the reading direction of what stands beside it
// Becomes  '?': control characters (ESC, C1), what turns the direction, what takes no column (but combining marks), blanks
//          that are no space, the tag and line characters; U+FFFD: bytes that are no UTF-8, and what is no character
// Source   Unicode 15 general categories Cc, Cf, Zl, Zp and Zs, Default_Ignorable_Code_Point
// Errors   none
// Threads  any
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace wattle {

// The code point at the front of `text`, which must not be empty, and takes it off. U+FFFD for a byte that belongs to none.
char32_t take_code_point(std::string_view& text);
void append_utf8(std::string& out, char32_t code_point);
// What may stand on a terminal as it is.
bool is_printable(char32_t code_point);
std::string printable(std::string_view text);
// As printable, and keeps the ends of lines.
std::string printable_lines(std::string_view text);
// 0 for combining marks, 2 for East Asian wide characters and emoji, else 1.
std::size_t display_width(std::string_view text);

}  // namespace wattle
