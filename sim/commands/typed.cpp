#include "sim/commands/typed.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "common/cmdline/man_page.hpp"

namespace wattle::sim::commands {

std::optional<int> parse(CLI::App& app, int argc, char** argv) {
  if (const auto part = cmdline::asked_man_part(app, {argv + 1, argv + argc})) {
    std::fputs(part->c_str(), stdout);
    return 0;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return std::nullopt;
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
