// declare: adds commands and their options to a command line.
// Errors   none
// Threads  main only
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <span>

#include "cli/command.hpp"

namespace wattle::cli {

// Adds one command per row.
void add_commands(CLI::App& parent, std::span<const Command> rows, Run& chosen);

// Sets the work of a command, and returns the options to declare for it. They live as long as the command.
template <class Options>
Options& runs(CLI::App& command, Run& chosen, Outcome (*run)(const Invocation&, const Options&)) {
  const auto options = std::make_shared<Options>();
  command.callback([&chosen, options, run] {
    chosen = [options, run](const Invocation& invocation) { return run(invocation, *options); };
  });
  return *options;
}
// Sets the work of a command without its own options.
void runs(CLI::App& command, Run& chosen, Outcome (*run)(const Invocation&));

}  // namespace wattle::cli
