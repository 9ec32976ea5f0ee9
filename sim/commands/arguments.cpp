#include <cstdio>

#include "sim/commands/commands.hpp"

namespace wattle::sim::commands {

int report(const Error& error) {
  std::fprintf(stderr, "wattle-sim: %s\n", error.message().c_str());
  return 1;
}

Result<EnvOptions> env_options(const WorldArguments& arguments) {
  EnvOptions options;
  WATTLE_TRY(options.scenario, find_scenario(arguments.scenario));
  WATTLE_TRY(options.reward.preset, placement::parse_preset(arguments.preset));
  if (arguments.nodes > 0) options.scenario.nodes = arguments.nodes;
  if (arguments.placements > 0) options.scenario.placements = arguments.placements;
  if (!arguments.trace_dir.empty()) {
    WATTLE_TRY(options.measured, load_servers(arguments.trace_dir));
  }
  return options;
}

int scenarios(int argc, char**) {
  if (argc > 1) {
    std::fputs("usage: wattle-sim scenarios\n", stderr);
    return 2;
  }
  for (const Scenario& scenario : kScenarios)
    std::printf("%-14s %2zu nodes  %s\n", std::string(scenario.name).c_str(), scenario.nodes,
                std::string(scenario.help).c_str());
  return 0;
}

}  // namespace wattle::sim::commands
