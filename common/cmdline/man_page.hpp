// man_page: a manual page in roff (man(7)) of what a program's --help tells.
// Why      the build runs each program with --man-page, so that no page is written by hand and none goes stale
// Errors   none: whatever a description has in it stands there as text
// Threads  any
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/cmdline/outline.hpp"

namespace wattle::cmdline {

// The whole page of a program; `section` as in "1" or "8".
std::string man_page(const Outline& program, std::string_view section, std::string_view version);
// Its parts, where commands tell theirs one by one: all before the commands, one command, all after them.
std::string man_head(const Outline& program, std::string_view section, std::string_view version);
std::string man_command(const Outline& command, const std::string& full_name);
std::string man_tail(const Outline& program);

// What the build asks for, and no --help tells: the page of this program, where the words behind its name are --man-page SECTION.
std::optional<std::string> asked_man_page(const CLI::App& app, const std::vector<std::string>& words);
// The part of a page that this command has, whose name is the app's, where the last word is --man-part.
std::optional<std::string> asked_man_part(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace wattle::cmdline
