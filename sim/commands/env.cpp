#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "sim/commands/commands.hpp"
#include "sim/env_protocol.hpp"

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
  app.add_option("--scenario", arguments.scenario, "see wattle-sim scenarios")->capture_default_str();
  app.add_option("--reward", arguments.preset, "reward preset")->capture_default_str();
  app.add_option("--weight", arguments.weights, "NAME=NUMBER, of the preset weighted; may be repeated");
  app.add_option("--cluster-seed", arguments.cluster_seed, "one cluster for all episodes; default: another each");
  app.add_option("--nodes", arguments.nodes, "instead of the scenario's")->check(CLI::Range(1, 5000));
  app.add_option("--placements", arguments.placements, "of an episode, instead of the scenario's")
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--trace", arguments.trace_dir, "directory with server_power_curves.csv; default: synthetic");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const Status done = run(arguments);
  return done ? 0 : report(done.error());
}

}  // namespace wattle::sim::commands
