// app: the program `wattle`: command line in, exit code out.
// Gives    0 all is well; 1 a problem was found or nobody answers; 2 the command line or the configuration is wrong
// Errors   told on stderr as "wattle: endpoint, file or key: what (mend)"
// Threads  main only
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/command.hpp"
#include "common/cmdline/outline.hpp"

namespace wattle::cli {

int run_app(int argc, char** argv);
// As run_app, in given surroundings; `arguments` without the program's name.
int run_app(const std::vector<std::string>& arguments, Surroundings& around);

// All commands and options, as declared.
cmdline::Outline outline();
// What people type to run the program of this path: `kubectl wattle` where kubectl runs it as a plugin.
std::string called_as(std::string_view program);

}  // namespace wattle::cli
