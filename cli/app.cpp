#include "cli/app.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>

#include "cli/declare.hpp"
#include "cli/json_template.hpp"
#include "cli/known_names.hpp"
#include "cli/list.hpp"
#include "cli/table.hpp"
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
constexpr std::string_view kJsonPath = "jsonpath=";

// A name of kOutputs, or jsonpath= with a template.
CLI::Validator output_check() {
  const CLI::Validator names =
      CLI::IsMember(std::vector<std::string>{"table", "wide", "json", "yaml", "name", std::string(kJsonPath)});
  CLI::Validator check = names;
  check.operation([names](std::string& text) { return text.starts_with(kJsonPath) ? std::string() : names(text); });
  return check;
}

Status read_output(const std::string& text, CommonOptions& out) {
  if (!text.starts_with(kJsonPath)) {
    out.output = kOutputs.at(text);
    return {};
  }
  out.output = Output::jsonpath;
  WATTLE_TRY(JsonTemplate parsed, JsonTemplate::parse(std::string_view(text).substr(kJsonPath.size())));
  out.jsonpath = std::make_shared<const JsonTemplate>(std::move(parsed));
  return {};
}

bool prints_names(const std::string& command) {
  return command == "place" || std::ranges::any_of(lists(), [&](const List& list) { return list.command == command; });
}

void declare_common(CLI::App& app, CommonOptions& common, std::string& output) {
  app.add_option("--server", common.server, "Controller's ask endpoint, tcp://HOST:PORT");
  app.add_option("--feed", common.feed,
                 "Controller's feed endpoint, used by -w (default: the ask endpoint's port minus 1)");
  app.add_option("--key", common.key, "File with your key pair")->type_name("FILE");
  app.add_option("--server-key", common.server_key, "File with the controller's public key")->type_name("FILE");
  app.add_option("--timeout", common.timeout, "Time to wait for an answer, for example 250ms or 5s (default 5s)");
  app.add_option("--kubeconfig", common.cluster.kubeconfig,
                 "Kubeconfig for the API server (default: KUBECONFIG, else the service account of the pod)")
      ->type_name("FILE");
  app.add_option("--context", common.cluster.context,
                 "Context of the kubeconfig. Reaches the controller in that cluster with kubectl port-forward");
  app.add_option("--controller-namespace", common.controller_namespace,
                 "Namespace of the controller, with --context and for `install` (default wattle)");
  app.add_flag("--as-operator", common.as_operator,
               "With --context: use the operator's key, for commands that change settings (default: a reader's login)");
  app.add_option(
         "-o,--output", output,
         "Output format. `name` prints the names of a list, or the node of `place`. `jsonpath=` is followed by a "
         "template, for example jsonpath='{.nodes[*].name}'")
      ->check(output_check());
}

constexpr const char* kAbout = "Shows the state of Wattle's controller and explains its decisions";

void declare(CLI::App& app, CommonOptions& common, std::string& output, Run& chosen) {
  app.set_version_flag("--version", std::string(kVersion));
  app.fallthrough();
  app.footer(
      "Defaults are read from the file named by WATTLE_CONFIG, else from ~/.config/wattle/cli.yaml, else\n"
      "from /etc/wattle/cli.yaml (keys: server, feed, key, server_key, timeout, allow_list). Exit codes:\n"
      "0 success, 1 a problem was found or the controller does not answer, 2 wrong usage or configuration,\n"
      "3 the workload should wait (place).");
  declare_common(app, common, output);
  add_commands(app, commands(), chosen);
}
}  // namespace

int run_app(const std::vector<std::string>& words, Surroundings& around) {
  CLI::App app{kAbout, around.name};
  CommonOptions common;
  Run chosen;
  std::string output = "table";
  fit_output(around.columns, false);
  declare(app, common, output, chosen);
  auto page = cmdline::asked_man_page(app, words);
  if (!page) page = cmdline::asked_completions(app, words, known_names(around));
  const auto flushed = [&](int code) {
    if (around.out.flush()) return code;
    complain({common, around, ""}, {Errc::io, "stdout", "cannot be written", ""});
    return kProblem;
  };
  if (page) {
    around.out << *page;
    return flushed(kOk);
  }
  const auto done = [&]() -> Outcome {
    try {
      app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
    } catch (const CLI::ParseError& error) {
      if (!cmdline::is_misuse(app, error)) {
        if (dynamic_cast<const CLI::CallForHelp*>(&error) == nullptr)
          return flushed(app.exit(error, around.out, around.err));
        around.out << cmdline::fitted(app.help(), text_width());
        return flushed(kOk);
      }
      if (const auto help = cmdline::help_of_group(app, error, around.name)) {
        around.out << cmdline::fitted(*help, text_width());
        return flushed(kOk);
      }
      return misuse(cmdline::usage_error(app, error, around.name));
    }
    if (const auto wrong = cmdline::not_finite(app)) return misuse(*wrong);
    const std::string command = cmdline::typed_command(app);
    WATTLE_CHECK(as_misuse(read_output(output, common)));
    fit_output(around.columns, common.output == Output::wide);
    if (common.output == Output::name && !prints_names(command))
      return misuse({Errc::malformed, "-o name", "only lists and `place` have this output",
                     "use table, wide, json, yaml or jsonpath=TEMPLATE"});
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
  winsize window{};
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  if (terminal) ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window);
  Surroundings around{std::cout,
                      std::cerr,
                      terminal,
                      [](const char* name) -> std::optional<std::string> {
                        const char* value = std::getenv(name);
                        return value == nullptr ? std::nullopt : std::optional<std::string>(value);
                      },
                      called_as(argc > 0 ? argv[0] : ""),
                      ::isatty(STDIN_FILENO) == 1,
                      window.ws_col};
  return run_app(std::vector<std::string>(argv + 1, argv + argc), around);
}

}  // namespace wattle::cli
