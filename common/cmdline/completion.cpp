#include "common/cmdline/completion.hpp"

#include <CLI/CLI.hpp>

namespace wattle::cmdline {

void declare_shell(CLI::App& command, std::string& shell) {
  std::vector<std::string> names;
  names.reserve(kShells.size());
  for (const Shell& each : kShells) names.emplace_back(each.name);
  command.add_option("SHELL", shell, "Shell: bash, zsh or fish")->required()->check(CLI::IsMember(names));
}

std::string completion_script(std::string_view shell, const Outline& program) {
  for (const Shell& each : kShells)
    if (shell == each.name) return each.script(program);
  return "";
}

}  // namespace wattle::cmdline
