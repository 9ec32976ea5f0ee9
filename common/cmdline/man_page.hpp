// man_page: generates a manual page in roff (man(7)) from a program's --help.
// Why      the build runs each program with --man-page, so that pages are never written by hand and always match the
//          program
// Errors   none: special characters in descriptions are escaped
// Threads  any
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/cmdline/outline.hpp"

namespace wattle::cmdline {

// Returns the whole page of a program; `section` as in "1" or "8".
std::string man_page(const Outline& program, std::string_view section, std::string_view version);
// Parts of the page, for programs whose commands print theirs one by one: everything before the commands, one command,
// everything after them.
std::string man_head(const Outline& program, std::string_view section, std::string_view version);
std::string man_command(const Outline& command, const std::string& full_name);
std::string man_tail(const Outline& program);

// Returns the page if the words after the program's name are --man-page SECTION. The build uses this; --help does not
// list it.
std::optional<std::string> asked_man_page(const CLI::App& app, const std::vector<std::string>& words);
// Returns this command's part of a page if the last word is --man-part. The app's name is the command's.
std::optional<std::string> asked_man_part(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace wattle::cmdline
