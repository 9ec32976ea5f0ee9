// env_commands: the commands that serve environments for external training; all that the Python package uses of
// wattle-sim.
// Threads  main thread
#pragma once

#include "sim/app.hpp"

namespace wattle::sim::commands {

int env(int argc, char** argv);
int provision_env(int argc, char** argv);
int scenarios(int argc, char** argv);

inline constexpr Subcommand kListScenarios{"scenarios", "list the scenarios", scenarios};
inline constexpr Subcommand kEnv{"env", "provide an environment over JSON lines for external training", env};
inline constexpr Subcommand kProvisionEnv{
    "provision-env", "provide an environment over JSON lines for setting CPU limits", provision_env};

}  // namespace wattle::sim::commands
