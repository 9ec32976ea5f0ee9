#include <CLI/CLI.hpp>

#include "sim/commands/arguments.hpp"
#include "sim/commands/env_commands.hpp"
#include "sim/commands/env_lines.hpp"
#include "sim/env/env_protocol.hpp"

namespace wattle::sim::commands {

namespace {

Status run(const WorldArguments& arguments) {
  WATTLE_TRY(EnvOptions options, env_options(arguments));
  EnvServer server(std::move(options));
  return answer_lines(server);
}

}  // namespace

int env(int argc, char** argv) {
  WorldArguments arguments;
  CLI::App app{
      "An environment for external training: JSON lines on standard input and output "
      "(docs/reference/simulator.md)",
      "wattle-sim env"};
  add_world_options(app, arguments);
  return run_command(app, argc, argv, [&] { return run(arguments); });
}

}  // namespace wattle::sim::commands
