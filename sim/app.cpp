#include "sim/app.hpp"

#include <array>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "common/cmdline/man_page.hpp"
#include "common/cmdline/parse.hpp"
#include "common/error_line.hpp"
#include "common/nearest.hpp"
#include "common/standard_descriptors.hpp"
#include "common/version.hpp"

namespace wattle::sim {

namespace {

void usage(std::FILE* to, const Program& program, std::span<const Subcommand> commands) {
  const std::string name(program.name);
  std::fprintf(to, "usage: %s COMMAND [OPTIONS]   (%s COMMAND --help)\n\n", name.c_str(), name.c_str());
  for (const Subcommand& each : commands)
    std::fprintf(to, "  %-12s %s\n", std::string(each.name).c_str(), std::string(each.help).c_str());
}

// Each command prints its own section; this function only knows its name.
int man_page(const Program& described, const char* section, std::span<const Subcommand> commands) {
  cmdline::Outline program{
      std::string(described.name),
      std::string(described.about),
      "",
      {{.names = {"-h", "--help"}, .text = "Print the list of commands, or the options of a command"},
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

int run_app(const Program& program, std::span<const Subcommand> commands, int argc, char** argv) {
  hold_standard_descriptors();
  const std::string_view name = argc > 1 ? argv[1] : "";
  for (const Subcommand& each : commands)
    if (each.name == name) return each.run(argc - 1, argv + 1);
  if (name == "--help" || name == "-h") {
    usage(stdout, program, commands);
    return 0;
  }
  if (name == "--man-page" && argc == 3) return man_page(program, argv[2], commands);
  if (name == "--version") {
    std::printf("%s %s\n", std::string(program.name).c_str(), std::string(kVersion).c_str());
    return 0;
  }
  std::vector<std::string> names;
  for (const Subcommand& each : commands) names.emplace_back(each.name);
  const std::string fix = "commands: " + comma_list(names);
  const Error error = name.empty() ? Error{Errc::malformed, "a command is missing", "", fix}
                                   : Error{Errc::malformed, "unknown command \"" + std::string(name) + "\"", "",
                                           did_you_mean(name, names, fix)};
  std::fprintf(stderr, "%s\n", error_line(std::string(program.name), "", error).c_str());
  return cmdline::kMisused;
}

}  // namespace wattle::sim
