// `wattle confirm POD NODE` and `wattle done POD`: report the node on which a workload of `wattle place` was started,
// and its end.

#include "cli/declare.hpp"
#include "cli/human.hpp"
#include "cli/show.hpp"
#include "cli/view.hpp"
#include "common/parse.hpp"
#include "common/printable.hpp"

namespace wattle::cli {
Result<std::string> render_confirmed(const Json& document, const Style&) {
  const View answer(document);
  const std::string uid = answer["uid"].text_or(), node = answer["node"].text_or();
  if (answer["ended"].flag() == true)
    return printable_lines(uid + " ran on " + node +
                           " and has already ended; run `wattle place` again before you start it again\n");
  const auto unit = answer["unit"].text();
  std::string text = uid + " runs on " + node + (unit ? " as " + *unit : std::string()) + "\n";
  text += "ends:  " + (unit ? "with " + *unit : "when you run `wattle done " + uid + "`");
  if (answer["limit_s"].present()) text += ", at " + utc_s(answer["limit_s"]) + " at the latest";
  if (!unit) text += "\nunit:  no unit of its name found on " + node + " yet; set it with --unit";
  return printable_lines(text + "\n");
}

Result<std::string> render_done(const Json& document, const Style&) {
  const View answer(document);
  const std::string uid = answer["uid"].text_or();
  const auto node = answer["node"].text();
  if (!node) return printable_lines(uid + " was not started; its resources are free\n");
  const bool before = answer["ended"].flag() == true;
  return printable_lines(uid + (before ? " had ended on " : " has ended on ") + *node + "; its resources are free\n");
}

namespace {
struct ConfirmOptions {
  std::string pod, node, unit, time_limit;
};

Outcome run_confirm(const Invocation& invocation, const ConfirmOptions& given) {
  std::map<std::string, std::string> arguments{{"pod", given.pod}, {"node", given.node}};
  if (!given.unit.empty()) arguments["unit"] = given.unit;
  if (const std::string& text = given.time_limit; !text.empty()) {
    const auto limit_s = parse::duration_s(text);
    if (!limit_s || !(*limit_s > 0))
      return misuse({Errc::malformed, "--time-limit", "'" + text + "' is not a duration", "for example 30m or 8h"});
    arguments["limit_s"] = number(*limit_s, 3);
  }
  return show(invocation, "confirm", arguments, render_confirmed);
}
}  // namespace

void declare_confirm(CLI::App& command, Run& chosen) {
  auto& options = runs(command, chosen, run_confirm);
  command.add_option("POD", options.pod, "UID or name of the placed workload")->required();
  command.add_option("NODE", options.node, "Node on which the workload was started")->required();
  command.add_option(
      "--unit", options.unit,
      "Unit, container ID, VM or cgroup path of the workload on the node (default: the one with its name)");
  command.add_option(
      "--time-limit", options.time_limit,
      "Time after which the workload counts as ended, for example 8h (default: none; 24h without a unit)");
}

void declare_done(CLI::App& command, Run& chosen) {
  struct Options {
    std::string pod;
    bool failed = false;
  };
  auto& options = runs<Options>(command, chosen, [](const Invocation& invocation, const Options& given) {
    std::map<std::string, std::string> arguments{{"pod", given.pod}};
    if (given.failed) arguments["failed"] = "yes";
    return show(invocation, "done", arguments, render_done);
  });
  command.add_option("POD", options.pod, "UID or name of the confirmed workload")->required();
  command.add_flag("--failed", options.failed, "Report a failure: the outcome counts like that of a crashed pod");
}

}  // namespace wattle::cli
