#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "sim/commands/commands.hpp"
#include "sim/episode/env_protocol.hpp"

namespace wattle::sim::commands {

namespace {

// The next line, at most one byte longer than a request may be; the rest of a longer one is skipped. False at the end.
bool read_line(std::string& line) {
  line.clear();
  int c = 0;
  while ((c = std::getchar()) != EOF && c != '\n')
    if (line.size() <= kMaxRequestBytes) line += static_cast<char>(c);
  return c != EOF || !line.empty();
}

Status run(const WorldArguments& arguments) {
  WATTLE_TRY(EnvOptions options, env_options(arguments));
  EnvServer server(std::move(options));
  std::string line;
  while (!server.closed() && read_line(line)) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::string answer = server.answer(line) + "\n";
    if (std::fwrite(answer.data(), 1, answer.size(), stdout) != answer.size() || std::fflush(stdout) != 0)
      return fail_errno(errno, "standard output");
  }
  return {};
}

}  // namespace

int env(int argc, char** argv) {
  WorldArguments arguments;
  CLI::App app{
      "An environment for others to train against: JSON lines on standard input and output "
      "(docs/reference/simulator.md)",
      "wattle-sim env"};
  add_world_options(app, arguments);
  return run_command(app, argc, argv, [&] { return run(arguments); });
}

}  // namespace wattle::sim::commands
