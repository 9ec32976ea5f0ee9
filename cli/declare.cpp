#include "cli/declare.hpp"

namespace wattle::cli {

void add_commands(CLI::App& parent, std::span<const Command> rows, Run& chosen) {
  parent.require_subcommand(1);
  for (const Command& row : rows) {
    auto* command = parent.add_subcommand(std::string(row.name), std::string(row.help));
    command->fallthrough();
    command->footer("For the options of all commands (-o, --server, --key, ...), see wattle --help.");
    row.declare(*command, chosen);
  }
}

void runs(CLI::App& command, Run& chosen, Outcome (*run)(const Invocation&)) {
  command.callback([&chosen, run] { chosen = run; });
}

}  // namespace wattle::cli
