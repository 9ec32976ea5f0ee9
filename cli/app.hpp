// app: runs the program `wattle`: takes a command line, returns an exit code.
// Gives    0 success; 1 a problem was found or there is no answer; 2 the command line or the configuration is wrong
// Errors   reported on stderr as "wattle: endpoint, file or key: what (fix)"
// Threads  main only
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/command.hpp"

namespace wattle::cli {

int run_app(int argc, char** argv);
// Same as run_app, with the given environment; `arguments` excludes the program's name.
int run_app(const std::vector<std::string>& arguments, Surroundings& around);

// Returns the command that users type for this program path: `kubectl wattle` if kubectl runs it as a plugin.
std::string called_as(std::string_view program);

}  // namespace wattle::cli
