#include "sim/commands/typed.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "common/cmdline/parse.hpp"
#include "common/error_line.hpp"

namespace wattle::sim::commands {

std::optional<int> parse(CLI::App& app, int argc, char** argv) {
  return cmdline::parse(app, argc, argv, cmdline::asked_man_part);
}

namespace {
int failed_in(const std::string& program, const std::string& command, const Error& error) {
  std::fprintf(stderr, "%s\n", error_line(program, command, error).c_str());
  return 1;
}
}  // namespace

int failed(const char* command, const Error& error) { return failed_in("wattle-sim", command, error); }

int run_command(CLI::App& app, int argc, char** argv, const std::function<Status()>& run) {
  if (const auto code = parse(app, argc, argv)) return *code;
  const Status done = run();
  if (done) return 0;
  const std::string name = app.get_name();  // the program, then the command
  const std::size_t space = name.find(' ');
  return failed_in(name.substr(0, space), name.substr(space + 1), done.error());
}

}  // namespace wattle::sim::commands
