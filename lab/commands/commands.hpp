// commands: the subcommands in the table of all.cpp, one file each. argv[0] is the subcommand; returns the exit code.
// Threads  main thread
#pragma once

#include "sim/app.hpp"

namespace wattle::sim::commands {

std::span<const Subcommand> all_of_lab();  // the subcommands of wattle-lab

int worlds(int argc, char** argv);
int bench(int argc, char** argv);
int bench_suite(int argc, char** argv);  // all scenarios
int imitate(int argc, char** argv);      // from labels
int labels(int argc, char** argv);
int provision(int argc, char** argv);
int requests(int argc, char** argv);
int savings(int argc, char** argv);
int shadow(int argc, char** argv);
int sleep(int argc, char** argv);

}  // namespace wattle::sim::commands
