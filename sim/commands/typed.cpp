#include "sim/commands/typed.hpp"

#include <cstdio>

#include "common/cmdline/parse.hpp"

namespace wattle::sim::commands {

std::optional<int> parse(CLI::App& app, int argc, char** argv) {
  return cmdline::parse(app, argc, argv, cmdline::asked_man_part);
}

int failed(const char* command, const Error& error) {
  std::fprintf(stderr, "wattle-sim %s: %s\n", command, error.message().c_str());
  return 1;
}

int run_command(CLI::App& app, int argc, char** argv, const std::function<Status()>& run) {
  if (const auto code = parse(app, argc, argv)) return *code;
  const Status done = run();
  if (done) return 0;
  std::fprintf(stderr, "wattle-sim: %s\n", done.error().message().c_str());
  return 1;
}

}  // namespace wattle::sim::commands
