// printable: makes foreign text safe for a terminal, a log and a page. All output of foreign text uses it.
// Why      pods, nodes and peers choose their own names, which must not move a cursor, hide, imitate other text or
//          reverse the reading direction of the text beside them
// Becomes  '?' for control characters (ESC, C1), direction marks, characters without width (except combining marks),
//          blanks other than the space, tag and line characters; U+FFFD for invalid UTF-8 and noncharacters
// Source   Unicode 15 general categories Cc, Cf, Zl, Zp and Zs, Default_Ignorable_Code_Point
// Errors   none
// Threads  any
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace wattle {

// Removes the first code point of `text` and returns it; `text` must not be empty. Returns U+FFFD for an invalid byte.
char32_t take_code_point(std::string_view& text);
void append_utf8(std::string& out, char32_t code_point);
// Returns whether a terminal may show the code point unchanged.
bool is_printable(char32_t code_point);
std::string printable(std::string_view text);
// Like printable, but keeps newlines.
std::string printable_lines(std::string_view text);
// 0 for combining marks, 2 for East Asian wide characters and emoji, else 1.
std::size_t display_width(std::string_view text);

}  // namespace wattle
