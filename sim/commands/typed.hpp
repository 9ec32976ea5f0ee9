// typed: what each command does with what was typed, and with an error.
// Threads  main thread
#pragma once

#include <functional>
#include <optional>

#include "common/result.hpp"

namespace CLI {
class App;
}

namespace wattle::sim::commands {

// The exit code where nothing is left to do: help was wanted, or the usage was wrong.
std::optional<int> parse(CLI::App& app, int argc, char** argv);
// Says so on standard error, as `wattle-sim COMMAND`; exit code 1.
int failed(const char* command, const Error& error);
// Takes what was typed and does it. Exit code: 0 done, 1 it failed (message on standard error), 2 wrong usage.
int run_command(CLI::App& app, int argc, char** argv, const std::function<Status()>& run);

}  // namespace wattle::sim::commands
