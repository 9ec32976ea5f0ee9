#include "load/app.hpp"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>

#include "common/cmdline/completion.hpp"
#include "common/cmdline/parse.hpp"
#include "common/error_line.hpp"
#include "common/parse.hpp"
#include "common/version.hpp"
#include "load/commands.hpp"

namespace wattle::load {

namespace {
void report(const Error& error) { std::fprintf(stderr, "%s\n", error_line("wattle-load", "", error).c_str()); }
}  // namespace

int complain(const Error& error) {
  report(error);
  return kProblem;
}

int misused(const Error& error) {
  report(error);
  return kUsage;
}

Status print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    return fail_errno(errno, "standard output");
  return {};
}

Result<Duration> parse_span(const std::string& option, const std::string& text) {
  constexpr double kMostSeconds = 30 * 86'400;
  const auto span_s = parse::duration_s(text);
  if (!span_s || *span_s < 1e-3 || *span_s > kMostSeconds)
    return fail(Errc::malformed, option + " " + text, "is not a duration from 1ms to 720h",
                "for example 250ms, 90s or 5m");
  return from_seconds(*span_s);
}

int run_app(int argc, char** argv) {
  CLI::App app{"Generates load: requests to an HTTP service, or use of a machine's CPU, memory, disk and network",
               "wattle-load"};
  app.set_version_flag("--version", std::string(kVersion));
  app.require_subcommand(1);
  app.footer("Exit codes: 0 success, 1 no request was answered or a problem was found, 2 wrong usage.");
  auto* http = app.add_subcommand("http", "Send requests to an HTTP service and report response times");
  auto* resource =
      app.add_subcommand("resource", "Use CPU, memory, disk and network at a constant level with stress-ng");
  auto* completion = app.add_subcommand("completion", "Print a completion script for a shell");
  const auto run_http = declare_http(*http);
  const auto run_resource = declare_resource(*resource);
  std::string shell;
  cmdline::declare_shell(*completion, shell);
  if (const auto code = cmdline::parse(app, argc, argv)) return *code;
  if (*http) return run_http();
  if (*resource) return run_resource();
  const Status printed = print(cmdline::completion_script(shell, "wattle-load"));
  return printed ? kOk : complain(printed.error());
}

}  // namespace wattle::load
