// completion: `wattle completion SHELL`: prints a script generated from the program's declared options.
#include "common/cmdline/completion.hpp"

#include <ostream>

#include "cli/app.hpp"
#include "cli/commands.hpp"

namespace wattle::cli {

void declare_completion(CLI::App& command, Arguments& arguments) { cmdline::declare_shell(command, arguments.shell); }

int run_completion(const Invocation& invocation) {
  invocation.around.out << cmdline::completion_script(invocation.arguments.shell, outline());
  return invocation.around.out.flush() ? kOk : kProblem;
}

}  // namespace wattle::cli
