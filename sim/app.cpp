#include "sim/app.hpp"

#include <array>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "common/cmdline/man_page.hpp"
#include "common/cmdline/parse.hpp"
#include "common/cmdline/wrong_command.hpp"
#include "common/printable.hpp"
#include "common/version.hpp"

namespace wattle::sim {

namespace {

void usage(std::FILE* to, std::span<const Subcommand> commands) {
  std::fputs("usage: wattle-sim COMMAND [OPTIONS]   (wattle-sim COMMAND --help)\n\n", to);
  for (const Subcommand& each : commands)
    std::fprintf(to, "  %-12s %s\n", std::string(each.name).c_str(), std::string(each.help).c_str());
}

// Each command prints its own section; this function only knows its name.
int man_page(const char* section, std::span<const Subcommand> commands) {
  cmdline::Outline program{
      "wattle-sim",
      "simulates clusters, and judges on them who places workloads",
      "",
      {{.names = {"-h", "--help"}, .text = "Print the list of commands; of a command: its options"},
       {.names = {"--version"}, .text = "Print the version"}},
      {},
      {}};
  for (const Subcommand& each : commands)
    program.commands.push_back({std::string(each.name), std::string(each.help), "", {}, {}, {}});
  std::fputs(cmdline::man_head(program, section, kVersion).c_str(), stdout);
  for (const Subcommand& each : commands) {
    std::string name(each.name), variant(each.variant), part = "--man-part";
    std::array<char*, 3> words{name.data(), part.data(), nullptr};
    if (const int code = each.run(2, words.data()); code != 0) return code;
    if (variant.empty()) continue;
    words = {name.data(), variant.data(), part.data()};
    if (const int code = each.run(3, words.data()); code != 0) return code;
  }
  std::fputs(cmdline::man_tail(program).c_str(), stdout);
  return 0;
}

}  // namespace

int run_app(std::span<const Subcommand> commands, int argc, char** argv) {
  const std::string_view name = argc > 1 ? argv[1] : "";
  for (const Subcommand& each : commands)
    if (each.name == name) return each.run(argc - 1, argv + 1);
  if (name == "--help" || name == "-h") {
    usage(stdout, commands);
    return 0;
  }
  if (name == "--man-page" && argc == 3) return man_page(argv[2], commands);
  if (name == "--version") {
    std::printf("wattle-sim %s\n", std::string(kVersion).c_str());
    return 0;
  }
  if (!name.empty()) {
    std::vector<std::string> all;
    for (const Subcommand& each : commands) all.emplace_back(each.name);
    std::fprintf(stderr, "%s\n", printable_lines(cmdline::unknown_command("wattle-sim", name, all)).c_str());
    return cmdline::kMisused;
  }
  usage(stderr, commands);
  return cmdline::kMisused;
}

}  // namespace wattle::sim
