// app: a program of subcommands, described by a table: wattle-sim (sim/commands/all.cpp), wattle-sim-live
// (sim/live_main.cpp), wattle-lab (lab/commands/all.cpp).
// Errors   exit codes: 0 done, 1 the environment failed (message on standard error), 2 wrong usage
// Threads  main thread
#pragma once

#include <span>
#include <string_view>

namespace wattle::sim {

struct Subcommand {
  std::string_view name;
  std::string_view help;              // one line
  int (*run)(int argc, char** argv);  // argv[0] is the subcommand
  std::string_view variant = {};      // second word that selects another command with its own options
};

struct Program {
  std::string_view name, about;  // for the manual page
};
inline constexpr Program kSimulator{"wattle-sim", "simulates clusters and evaluates placement policies on them"};

int run_app(const Program& program, std::span<const Subcommand> commands, int argc, char** argv);

}  // namespace wattle::sim
