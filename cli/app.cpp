#include "cli/app.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <iostream>
#include <map>

#include "common/cmdline/man_page.hpp"
#include "common/cmdline/usage.hpp"
#include "common/private_memory.hpp"
#include "common/version.hpp"

namespace wattle::cli {

namespace {
const std::map<std::string, Output> kOutputs{{"table", Output::table},
                                             {"wide", Output::wide},
                                             {"json", Output::json},
                                             {"yaml", Output::yaml},
                                             {"name", Output::name}};

void declare_common(CLI::App& app, Arguments& arguments) {
  app.add_option("--server", arguments.server, "Controller's ask endpoint, tcp://HOST:PORT");
  app.add_option("--feed", arguments.feed,
                 "Controller's feed endpoint, used by `watch` (default: the ask endpoint's port minus 1)");
  app.add_option("--key", arguments.key, "File with your key pair")->type_name("FILE");
  app.add_option("--server-key", arguments.server_key, "File with the controller's public key")->type_name("FILE");
  app.add_option("--timeout", arguments.timeout, "Time to wait for an answer, for example 250ms or 5s (default 5s)");
  app.add_option_function<std::string>(
         "-o,--output", [&arguments](const std::string& name) { arguments.output = kOutputs.at(name); },
         "Output format: table, wide, json or yaml; `place` also accepts name, which prints only the node")
      ->check(CLI::IsMember({"table", "wide", "json", "yaml", "name"}));
}

constexpr const char* kAbout = "Shows the state of Wattle's controller and explains its decisions";

void declare(CLI::App& app, Arguments& arguments, const Command*& chosen) {
  app.set_version_flag("--version", std::string(kVersion));
  app.require_subcommand(1);
  app.fallthrough();
  app.footer(
      "Defaults are read from the file named by WATTLE_CONFIG, else from ~/.config/wattle/cli.yaml, else\n"
      "from /etc/wattle/cli.yaml (keys: server, feed, key, server_key, timeout, allow_list). Exit codes:\n"
      "0 success, 1 a problem was found or the controller does not answer, 2 wrong usage or configuration,\n"
      "3 the workload should wait (place).");
  declare_common(app, arguments);
  for (const Command& command : commands()) {
    auto* sub = app.add_subcommand(std::string(command.name), std::string(command.help));
    sub->fallthrough();
    sub->footer("For the options of all commands (-o, --server, --key, ...), see wattle --help.");
    sub->final_callback([&chosen, &command] { chosen = &command; });
    if (command.declare != nullptr) command.declare(*sub, arguments);
  }
}
}  // namespace

cmdline::Outline outline() {
  CLI::App app{kAbout, "wattle"};
  Arguments arguments;
  const Command* chosen = nullptr;
  declare(app, arguments, chosen);
  return cmdline::outline_of(app);
}

int run_app(const std::vector<std::string>& words, Surroundings& around) {
  CLI::App app{kAbout, around.name};
  Arguments arguments;
  const Command* chosen = nullptr;
  declare(app, arguments, chosen);
  if (const auto page = cmdline::asked_man_page(app, words)) {
    around.out << *page;
    return around.out.flush() ? kOk : kProblem;
  }
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& error) {
    if (!cmdline::is_misuse(app, error)) return app.exit(error, around.out, around.err);
    return complain({arguments, around, cmdline::typed_command(app)}, cmdline::usage_error(app, error, around.name),
                    kUsage);
  }
  const Invocation invocation{arguments, around, cmdline::typed_command(app)};
  if (arguments.output == Output::name && chosen->name != "place")
    return complain(invocation,
                    {Errc::malformed, "-o name", "only `place` has this output", "use table, wide, json or yaml"},
                    kUsage);
  return chosen->run(invocation);
}

std::string called_as(std::string_view program) {
  constexpr std::string_view kPlugin = "kubectl-wattle";
  return program.substr(program.rfind('/') + 1) == kPlugin ? "kubectl wattle" : "wattle";
}

int run_app(int argc, char** argv) {
  keep_memory_private();
  Surroundings around{std::cout,
                      std::cerr,
                      ::isatty(STDOUT_FILENO) == 1,
                      [](const char* name) -> std::optional<std::string> {
                        const char* value = std::getenv(name);
                        return value == nullptr ? std::nullopt : std::optional<std::string>(value);
                      },
                      called_as(argc > 0 ? argv[0] : ""),
                      ::isatty(STDIN_FILENO) == 1};
  return run_app(std::vector<std::string>(argv + 1, argv + argc), around);
}

}  // namespace wattle::cli
