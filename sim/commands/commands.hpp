// commands: the subcommands in the table of all.cpp, one file each, besides those of env_commands and live. argv[0] is
// the subcommand; returns the exit code.
// Threads  main thread
#pragma once

#include "sim/app.hpp"

namespace wattle::sim::commands {

std::span<const Subcommand> all();  // the subcommands of wattle-sim

int eval(int argc, char** argv);
int improve(int argc, char** argv);  // from recorded days
int profile(int argc, char** argv);
int teach(int argc, char** argv);  // the network that steers provisioning
int train(int argc, char** argv);  // in the simulated loop

}  // namespace wattle::sim::commands
