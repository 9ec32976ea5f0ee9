#include "cli/app.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <iostream>
#include <map>

#include "common/cmdline/man_page.hpp"
#include "common/cmdline/wrong_command.hpp"
#include "common/printable.hpp"
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
  app.add_option("--server", arguments.server, "The controller's ask socket, tcp://HOST:PORT");
  app.add_option("--feed", arguments.feed, "Its feed, for `watch` (default: the port below the ask socket's)");
  app.add_option("--key", arguments.key, "File with our key pair")->type_name("FILE");
  app.add_option("--server-key", arguments.server_key, "File with the controller's public key")->type_name("FILE");
  app.add_option("--timeout", arguments.timeout, "How long to wait for an answer, as in 250ms or 5s (default 5s)");
  app.add_option_function<std::string>(
         "-o,--output", [&arguments](const std::string& name) { arguments.output = kOutputs.at(name); },
         "table, wide, json or yaml; `place` also name: the node alone")
      ->check(CLI::IsMember({"table", "wide", "json", "yaml", "name"}));
}

constexpr const char* kAbout = "Shows what Wattle's controller knows and why it decides as it does";

void declare(CLI::App& app, Arguments& arguments, const Command*& chosen) {
  app.set_version_flag("--version", std::string(kVersion));
  app.require_subcommand(1);
  app.fallthrough();
  app.footer(
      "Defaults are read from the file in WATTLE_CONFIG, else from ~/.config/wattle/cli.yaml, else\n"
      "/etc/wattle/cli.yaml (keys: server, feed, key, server_key, timeout, allow_list). Exit codes: 0 well, 1 a "
      "problem\n"
      "was found or nobody answers, 2 usage or configuration, 3 what is to be placed should wait (place).");
  declare_common(app, arguments);
  for (const Command& command : commands()) {
    auto* sub = app.add_subcommand(std::string(command.name), std::string(command.help));
    sub->fallthrough();
    sub->footer("Options of every command (-o, --server, --key, ...): see wattle --help.");
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
    if (const auto wrong = cmdline::wrong_command(app, error)) {
      around.err << printable_lines(*wrong) << "\n";
      return kUsage;
    }
    return app.exit(error, around.out, around.err) == 0 ? kOk : kUsage;
  }
  if (arguments.output == Output::name && chosen->name != "place")
    return complain(
        {arguments, around},
        {Errc::malformed, std::string(chosen->name), "has no output `name`", "use table, wide, json or yaml"}, kUsage);
  return chosen->run({arguments, around});
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
