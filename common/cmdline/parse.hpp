// parse: what was typed, taken by a program or a command; all that ends it before it has begun is here.
// Errors   none: CLI11's are told where they belong, and become exit codes
// Threads  main thread
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/cmdline/man_page.hpp"

namespace wattle::cmdline {

using AskedPage = std::optional<std::string> (*)(const CLI::App& app, const std::vector<std::string>& words);

// The exit code where nothing is left to do: 0 for help, the version or a manual page, which are printed; 2 for wrong usage, which is told.
std::optional<int> parse(CLI::App& app, int argc, const char* const* argv, AskedPage asked = asked_man_page);

}  // namespace wattle::cmdline
