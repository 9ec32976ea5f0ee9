// `wattle confirm POD NODE` and `wattle done POD`: report the node on which a workload of `wattle place` was started,
// and its end.
#include <CLI/CLI.hpp>
#include <ctime>

#include "cli/human.hpp"
#include "cli/show.hpp"
#include "cli/view.hpp"
#include "common/parse.hpp"
#include "common/printable.hpp"

namespace wattle::cli {
namespace {

// "2026-11-28 02:00 UTC"
std::string at_minute(double unix_s) {
  const auto at = static_cast<std::time_t>(unix_s);
  std::tm parts{};
  if (gmtime_r(&at, &parts) == nullptr) return number(unix_s, 0);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &parts)};
}

}  // namespace

Result<std::string> render_confirmed(const Json& document, const Style&) {
  const View told(document);
  const std::string uid = told["uid"].text_or(), node = told["node"].text_or();
  if (told["ended"].flag() == true)
    return printable_lines(uid + " ran on " + node +
                           " and has already ended; run `wattle place` again before you start it again\n");
  const auto unit = told["unit"].text();
  std::string text = uid + " runs on " + node + (unit ? " as " + *unit : std::string()) + "\n";
  text += "ends:  " + (unit ? "with " + *unit : "when you run `wattle done " + uid + "`");
  if (const auto limit_s = told["limit_s"].number()) text += ", at " + at_minute(*limit_s) + " at the latest";
  if (!unit) text += "\nunit:  no unit of its name found on " + node + " yet; set it with --unit";
  return printable_lines(text + "\n");
}

Result<std::string> render_done(const Json& document, const Style&) {
  const View told(document);
  const std::string uid = told["uid"].text_or();
  const auto node = told["node"].text();
  if (!node) return printable_lines(uid + " was not started; its resources are free\n");
  const bool before = told["ended"].flag() == true;
  return printable_lines(uid + (before ? " had ended on " : " has ended on ") + *node + "; its resources are free\n");
}

void declare_confirm(CLI::App& command, Arguments& arguments) {
  ConfirmArguments& confirm = arguments.confirm;
  command.add_option("POD", arguments.pod, "UID or name of the placed workload")->required();
  command.add_option("NODE", arguments.node, "Node on which the workload was started")->required();
  command.add_option(
      "--unit", confirm.unit,
      "Unit, container ID, VM or cgroup path of the workload on the node (default: the one with its name)");
  command.add_option(
      "--time-limit", confirm.time_limit,
      "Time after which the workload counts as ended, for example 8h (default: none; 24h without a unit)");
}

void declare_done(CLI::App& command, Arguments& arguments) {
  command.add_option("POD", arguments.pod, "UID or name of the confirmed workload")->required();
  command.add_flag("--failed", arguments.confirm.failed,
                   "Report a failure: the outcome counts like that of a crashed pod");
}

int run_confirm(const Invocation& invocation) {
  const Arguments& said = invocation.arguments;
  std::map<std::string, std::string> arguments{{"pod", said.pod}, {"node", said.node}};
  if (!said.confirm.unit.empty()) arguments["unit"] = said.confirm.unit;
  if (const std::string& text = said.confirm.time_limit; !text.empty()) {
    const auto limit_s = parse::duration_s(text);
    if (!limit_s || !(*limit_s > 0))
      return complain(invocation,
                      {Errc::malformed, "--time-limit", "'" + text + "' is not a duration", "for example 30m or 8h"},
                      kUsage);
    arguments["limit_s"] = number(*limit_s, 3);
  }
  return show(invocation, "confirm", arguments, render_confirmed);
}

int run_done(const Invocation& invocation) {
  std::map<std::string, std::string> arguments{{"pod", invocation.arguments.pod}};
  if (invocation.arguments.confirm.failed) arguments["failed"] = "yes";
  return show(invocation, "done", arguments, render_done);
}

}  // namespace wattle::cli
