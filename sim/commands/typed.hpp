// typed: adds and parses each command's options, runs it and reports its error.
// Threads  main thread
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "common/result.hpp"

namespace wattle::sim::commands {

// Returns the exit code if the command is finished: help was requested, or the usage was wrong.
std::optional<int> parse(CLI::App& app, int argc, char** argv);
// Prints the error on standard error as `wattle-sim: COMMAND: ...`; returns exit code 1.
int failed(const char* command, const Error& error);
// Parses the options and runs the command. Exit code: 0 done, 1 it failed (message on standard error), 2 wrong usage.
int run_command(CLI::App& app, int argc, char** argv, const std::function<Status()>& run);

// Adds an option whose value is checked and whose default --help shows.
template <class Value, class Check>
CLI::Option* add_checked(CLI::App& app, std::string name, Value& value, std::string help, const Check& check) {
  return app.add_option(std::move(name), value, std::move(help))->check(check)->capture_default_str();
}

}  // namespace wattle::sim::commands
