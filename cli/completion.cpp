// `wattle completion SHELL`: a script made from what the program declares of itself.
#include <CLI/CLI.hpp>
#include <array>
#include <ostream>

#include "cli/app.hpp"
#include "cli/commands.hpp"

namespace wattle::cli {

namespace {
struct Shell {
  const char* name;
  std::string (*script)(const cmdline::Outline& program);
};
constexpr std::array kShells{Shell{"bash", bash_completion}, Shell{"zsh", zsh_completion},
                             Shell{"fish", fish_completion}};
}  // namespace

void declare_completion(CLI::App& command, Arguments& arguments) {
  std::vector<std::string> names;
  names.reserve(kShells.size());
  for (const Shell& each : kShells) names.emplace_back(each.name);
  command.add_option("SHELL", arguments.shell, "Whose: bash, zsh or fish")->required()->check(CLI::IsMember(names));
}

int run_completion(const Invocation& invocation) {
  for (const Shell& each : kShells)
    if (invocation.arguments.shell == each.name) invocation.around.out << each.script(outline());
  return invocation.around.out.flush() ? kOk : kProblem;
}

}  // namespace wattle::cli
