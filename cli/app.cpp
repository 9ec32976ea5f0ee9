#include "cli/app.hpp"

#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <map>

#include "cli/declare.hpp"
#include "common/cmdline/completion.hpp"
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

void declare_common(CLI::App& app, CommonOptions& common) {
  app.add_option("--server", common.server, "Controller's ask endpoint, tcp://HOST:PORT");
  app.add_option("--feed", common.feed,
                 "Controller's feed endpoint, used by `watch` (default: the ask endpoint's port minus 1)");
  app.add_option("--key", common.key, "File with your key pair")->type_name("FILE");
  app.add_option("--server-key", common.server_key, "File with the controller's public key")->type_name("FILE");
  app.add_option("--timeout", common.timeout, "Time to wait for an answer, for example 250ms or 5s (default 5s)");
  app.add_option("--kubeconfig", common.cluster.kubeconfig,
                 "Kubeconfig for the API server (default: KUBECONFIG, else the service account of the pod)")
      ->type_name("FILE");
  app.add_option("--context", common.cluster.context,
                 "Context of the kubeconfig. Reaches the controller in that cluster with kubectl port-forward");
  app.add_option("--controller-namespace", common.controller_namespace,
                 "With --context: namespace of the controller (default wattle)");
  app.add_flag("--as-operator", common.as_operator,
               "With --context: use the operator's key, for commands that change settings (default: the reader's key)");
  app.add_option_function<std::string>(
         "-o,--output", [&common](const std::string& name) { common.output = kOutputs.at(name); },
         "Output format: table, wide, json or yaml; `place` also accepts name, which prints only the node")
      ->check(CLI::IsMember({"table", "wide", "json", "yaml", "name"}));
}

constexpr const char* kAbout = "Shows the state of Wattle's controller and explains its decisions";

void declare(CLI::App& app, CommonOptions& common, Run& chosen) {
  app.set_version_flag("--version", std::string(kVersion));
  app.fallthrough();
  app.footer(
      "Defaults are read from the file named by WATTLE_CONFIG, else from ~/.config/wattle/cli.yaml, else\n"
      "from /etc/wattle/cli.yaml (keys: server, feed, key, server_key, timeout, allow_list). Exit codes:\n"
      "0 success, 1 a problem was found or the controller does not answer, 2 wrong usage or configuration,\n"
      "3 the workload should wait (place).");
  declare_common(app, common);
  add_commands(app, commands(), chosen);
}
}  // namespace

int run_app(const std::vector<std::string>& words, Surroundings& around) {
  CLI::App app{kAbout, around.name};
  CommonOptions common;
  Run chosen;
  declare(app, common, chosen);
  auto page = cmdline::asked_man_page(app, words);
  if (!page) page = cmdline::asked_completions(app, words);
  if (page) {
    around.out << *page;
    return around.out.flush() ? kOk : kProblem;
  }
  const auto done = [&]() -> Outcome {
    try {
      app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
    } catch (const CLI::ParseError& error) {
      if (!cmdline::is_misuse(app, error)) return app.exit(error, around.out, around.err);
      return misuse(cmdline::usage_error(app, error, around.name));
    }
    const std::string command = cmdline::typed_command(app);
    if (common.output == Output::name && command != "place")
      return misuse({Errc::malformed, "-o name", "only `place` has this output", "use table, wide, json or yaml"});
    return chosen({common, around, command});
  }();
  if (done) return *done;
  complain({common, around, cmdline::typed_command(app)}, done.error().error);
  return done.error().exit_code;
}

std::string called_as(std::string_view program) {
  constexpr std::string_view kPlugin = "kubectl-wattle";
  return program.substr(program.rfind('/') + 1) == kPlugin ? kKubectlPlugin : "wattle";
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
