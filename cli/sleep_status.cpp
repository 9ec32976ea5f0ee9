// `wattle sleep status|history [NODE]`: the power states of nodes, their last transitions, and the energy that sleep
// saved.
#include "cli/commands.hpp"
#include "cli/declare.hpp"
#include "cli/human.hpp"
#include "cli/parts.hpp"
#include "cli/power_states.hpp"
#include "cli/show.hpp"
#include "cli/table.hpp"
#include "cli/view.hpp"
#include "common/printable.hpp"

namespace wattle::cli {

namespace {

// "2 no_wake, 1 refused".
std::string failures_text(const View& totals) {
  std::string text;
  for (const View& each : totals["failures"].items())
    text += (text.empty() ? "" : ", ") + count(each["count"]) + " " + each["cause"].text_or();
  return text.empty() ? "none" : text;
}

std::string totals_text(const View& totals) {
  const auto pods = totals["waited_pods"].number().value_or(0), waited_s = totals["waited_s"].number().value_or(0);
  const double tests = totals["tests"].number().value_or(0), tests_j = totals["tests_j"].number().value_or(0);
  const std::string cost = cost_text(totals);
  std::string text = "Complete round trips saved " + joules(totals["saved_j"].number().value_or(0) + tests_j) +
                     (cost.empty() ? "" : ", " + cost) +
                     " (modelled), net of transitions. Round trips: " + count(totals["cycles"]);
  if (tests > 0) text += ", of them tests of nodes: " + count(totals["tests"]) + ", which cost " + joules(tests_j);
  text += ". Used by all of them: " + joules(totals["transitions_j"]) + " in transitions, " +
          joules(totals["asleep_j"]) + " asleep. Failures: " + failures_text(totals) +
          ". Pods that waited for a wake: " + count(totals["waited_pods"]);
  if (pods > 0) text += ", " + age_s(waited_s / pods) + " on average";
  return printable_lines(wrapped(text + ".", 0));
}

// "19.7 kJ published": joules of a sleep and a wake, and their source.
std::string transitions_text(const View& node) {
  return joules(node["transitions_j"]) + (node["transitions_measured"].flag() == true ? " measured" : " published");
}

// The reason for an empty list.
std::string none_text(const View& document) {
  const std::string mode = document["mode"].text_or();
  if (mode == "off") return "sleep is off (set sleep.mode in the controller's configuration)\n";
  if (mode == "recommend") return "no node has slept: sleep.mode is recommend (wattle sleep plan shows the plan)\n";
  return "no node has a power state yet: label one with wattle.dev/sleep=auto\n";
}

}  // namespace

Result<std::string> render_sleep_status(const Json& document, const Style& style) {
  const View view(document);
  WATTLE_TRY(const std::vector<View> nodes, view.list("nodes"));
  if (nodes.empty()) return none_text(view);
  Table table{{"NODE", "STATE", "SINCE", ">PROVEN", "REASON"}, {}};
  if (style.wide) table.columns.insert(table.columns.end(), {">OPERATION", "SLEPT", "WOKEN", ">TODAY", ">ROUND TRIP"});
  for (const View& node : nodes) {
    Cell state = power_cell(node);
    if (node["presumed"].flag() == true) state.text += " (presumed)";
    std::vector<Cell> row{node["name"].text_or(), state, utc_s(node["since_wall_s"]),
                          count(node["round_trips"]) + " of " + count(node["round_trips_needed"]),
                          node["reason"].text_or()};
    if (style.wide)
      row.insert(row.end(),
                 {count(node["operation"]), utc_s(node["last_slept_wall_s"]), utc_s(node["last_woken_wall_s"]),
                  count(node["cycles_today"]) + " of " + count(node["cycles_per_day"]), transitions_text(node)});
    table.rows.push_back(std::move(row));
  }
  return to_text(table, style.colour) + "\n" + totals_text(view["totals"]);
}

Result<std::string> render_sleep_history(const Json& document, const Style& style) {
  const View view(document);
  WATTLE_TRY(const std::vector<View> transitions, view.list("transitions"));
  if (transitions.empty()) return none_text(view);
  Table table{{"TIME", "NODE", "STATE", "REASON"}, {}};
  if (style.wide) table.columns.insert(table.columns.end(), {"BEFORE", ">OPERATION"});
  for (const View& each : transitions) {
    std::vector<Cell> row{utc_s(each["at_wall_s"]), each["node"].text_or(), each["to"].text_or(),
                          each["reason"].text_or()};
    if (style.wide) row.insert(row.end(), {each["from"].text_or(), count(each["operation"])});
    table.rows.push_back(std::move(row));
  }
  return to_text(table, style.colour);
}

namespace {

struct HistoryOptions {
  std::string node;
  int limit = 20;
};

}  // namespace

void declare_sleep_status(CLI::App& command, Run& chosen) {
  runs(command, chosen,
       [](const Invocation& invocation) { return show(invocation, "sleep", {}, render_sleep_status); });
}

void declare_sleep_history(CLI::App& command, Run& chosen) {
  HistoryOptions& options =
      runs<HistoryOptions>(command, chosen, [](const Invocation& invocation, const HistoryOptions& given) {
        std::map<std::string, std::string> arguments{{"limit", std::to_string(given.limit)}};
        if (!given.node.empty()) arguments["node"] = given.node;
        return show(invocation, "sleep", arguments, render_sleep_history);
      });
  command.add_option("NODE", options.node, "Name of the node (default: all)");
  command.add_option("--limit", options.limit, "Number of transitions, 1 to 1000")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
}

}  // namespace wattle::cli
