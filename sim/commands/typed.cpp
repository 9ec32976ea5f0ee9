#include "sim/commands/typed.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "common/cmdline/parse.hpp"
#include "common/error_line.hpp"

namespace wattle::sim::commands {

std::optional<int> parse(CLI::App& app, int argc, char** argv) {
  return cmdline::parse(app, argc, argv, cmdline::asked_man_part);
}

int failed(const char* command, const Error& error) {
  std::fprintf(stderr, "%s\n", error_line("wattle-sim", command, error).c_str());
  return 1;
}

int run_command(CLI::App& app, int argc, char** argv, const std::function<Status()>& run) {
  if (const auto code = parse(app, argc, argv)) return *code;
  const Status done = run();
  if (done) return 0;
  return failed(app.get_name().substr(app.get_name().find(' ') + 1).c_str(), done.error());
}

}  // namespace wattle::sim::commands
