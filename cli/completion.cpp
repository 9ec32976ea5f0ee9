// completion: `wattle completion SHELL`: prints a script that completes by running the program.
#include "common/cmdline/completion.hpp"
#include "cli/declare.hpp"

#include <ostream>

#include "cli/app.hpp"
#include "cli/commands.hpp"

namespace wattle::cli {

void declare_completion(CLI::App& command, Run& chosen) {
  struct Options {
    std::string shell;
  };
  auto& options = runs<Options>(command, chosen, [](const Invocation& invocation, const Options& given) -> Outcome {
    invocation.around.out << cmdline::completion_script(given.shell, "wattle");
    if (!invocation.around.out.flush()) return fail(Errc::io, "stdout", "cannot be written");
    return kOk;
  });
  cmdline::declare_shell(command, options.shell);
}

}  // namespace wattle::cli
