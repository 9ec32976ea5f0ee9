// parse: parses the command line of a program or command and handles everything that ends the program early.
// Errors   none: prints CLI11's errors and turns them into exit codes
// Threads  main thread
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/cmdline/man_page.hpp"

namespace wattle::cmdline {

using AskedPage = std::optional<std::string> (*)(const CLI::App& app, const std::vector<std::string>& words);

// Returns the exit code if the program is to end: 0 after printing help, the version or a manual page; 2 after
// reporting wrong usage.
std::optional<int> parse(CLI::App& app, int argc, const char* const* argv, AskedPage asked = asked_man_page);

}  // namespace wattle::cmdline
