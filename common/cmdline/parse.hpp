// parse: parses the command line of a program or command and handles everything that ends the program early.
// Errors   none: prints CLI11's errors, and unknown commands with the closest known one, and turns them into exit codes
// Threads  main thread
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/cmdline/man_page.hpp"

namespace wattle::cmdline {

// Exit code of every program for wrong usage or a wrong configuration; systemd does not restart it then
// (RestartPreventExitStatus).
inline constexpr int kMisused = 2;

using AskedPage = std::optional<std::string> (*)(const CLI::App& app, const std::vector<std::string>& words);

// Returns the exit code if the program is to end: 0 after printing help, the version or a manual page; 2 after
// reporting wrong usage.
std::optional<int> parse(CLI::App& app, int argc, const char* const* argv, AskedPage asked = asked_man_page);

}  // namespace wattle::cmdline
