// `wattle sleep plan`, and the orders `exclude`, `allow`, `wake` and `test`.
#include <array>

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

std::string saving_text(const View& view) {
  std::string text;
  const std::string cost = cost_text(view, "_per_day");
  if (const auto saved_j = view["saved_j_per_day"].number(); saved_j && *saved_j > 0)
    text = wrapped("Projection: power from " + watts(view["power_w"]) + " to " + watts(view["power_w_after"]) + ", " +
                       joules(saved_j) + (cost.empty() ? "" : " (" + cost + ")") +
                       " per day net of transitions, if the demand stays as it is. " + number(view["spare_cores"], 1) +
                       " cores and " + bytes(view["spare_bytes"]) + " stay free on awake nodes.",
                   0);
  const auto drivers = view["drivers"].text();
  text += wrapped(
      (view["mode"].text_or() == "auto" ? "Wattle puts nodes with the label wattle.dev/sleep=auto to sleep. "
                                        : "Wattle recommends and does not act. ") +
          (drivers ? "DRIVER and DEPTH are answers of the power drivers of " + printable(*drivers) +
                         ". Costs of transitions are published ones where no driver states them."
                   : std::string("The plan assumes that nodes suspend to memory, with published costs of transitions, "
                                 "because sleep.drivers names no power drivers.")),
      0);
  if (const auto problem = view["budgets_problem"].text())
    text += wrapped("PodDisruptionBudgets are unknown: " + printable(*problem), 0);
  for (const View& node : view["excluded"].items())
    text += wrapped("excluded: " + printable(node["name"].text_or() + " (" + node["why"].text_or() + ")"), 0);
  return printable_lines(text);
}

// The moves that empty the nodes of the plan, and who makes them.
std::string moves_text(const View& document, bool colour) {
  Table table{{"MOVE", "FROM", "TO"}, {}};
  for (const View& node : document["sleep"].items())
    for (const View& move : node["moves"].items())
      table.rows.push_back({move["pod"].text_or(), node["name"].text_or(), move["target"].text_or()});
  if (table.rows.empty()) return {};
  const bool acts = document["moves_pods"].flag() == true;
  return to_text(table, colour) +
         wrapped(acts ? "Wattle makes these moves by eviction, within its limits."
                      : "Wattle does not make these moves. Once a node is empty, it may sleep.",
                 0) +
         "\n";
}

// Column DRIVER.
std::string driver_text(const View& document, const View& node) {
  return document["drivers"].present() ? node["driver"].text_or() : "assumed";
}

// The reason, and the state of a node whose agent is silent.
std::string why_text(const View& node) {
  const auto observed = node["observed"].text();
  return node["why"].text_or() + (observed ? " (observed by its driver: " + *observed + ")" : "");
}

}  // namespace

Result<std::string> render_sleep_plan(const Json& document, const Style& style) {
  const View view(document);
  WATTLE_TRY(const std::vector<View> sleeps, view.list("sleep"));
  WATTLE_TRY(const std::vector<View> awake, view.list("awake"));
  if (view["mode"].text_or() == "off")
    return std::string("sleep is off (set sleep.mode in the controller's configuration)\n");
  if (!view["age_s"].present()) return std::string("no plan has been made yet; the first one takes a few seconds\n");
  Table table{{"NODE", "PLAN", "DRIVER", "DEPTH", ">GAP", ">BREAK-EVEN", ">SAVES", ">MOVES", "WHY"}, {}};
  for (const View& node : sleeps)
    table.rows.push_back({node["name"].text_or(), Cell{"sleep", Tone::good}, driver_text(view, node),
                          node["depth"].text_or(), age_s(node["gap_s"]), age_s(node["break_even_s"]),
                          joules(node["saved_j"]), std::to_string(node["moves"].items().size()), why_text(node)});
  const std::string none(kAbsent);
  for (const View& node : awake)
    table.rows.push_back({node["name"].text_or(), Cell{"stay awake", Tone::faint}, driver_text(view, node),
                          node["depth"].text_or(), none, none, none, none, why_text(node)});
  return to_text(table, style.colour) + "\n" + moves_text(view, style.colour) + saving_text(view);
}

Result<std::string> render_sleep_order(const Json& document, const Style&) {
  const View view(document);
  std::string text = view["node"].text_or() + (view["excluded"].flag() == true ? " is excluded from sleep"
                                                                               : " is no longer excluded from sleep");
  if (view["kept"].flag() == false) text += "; the controller has no store and forgets it at a restart";
  return printable_lines(text + "\n");
}

Result<std::string> render_sleep_wake(const Json& document, const Style&) {
  WATTLE_TRY(const std::vector<View> woken, View(document).list("woken"));
  std::vector<std::string> names;
  for (const View& name : woken) names.push_back(name.text_or());
  return printable_lines(names.empty() ? std::string("no node sleeps\n") : "waking: " + joined(names, ", ") + "\n");
}

Result<std::string> render_sleep_test(const Json& document, const Style&) {
  const View view(document);
  return printable_lines(
      wrapped(view["node"].text_or() + " begins a round trip, operation " + count(view["operation"]) +
                  ": it sleeps, wakes and is ready. Proven so far: " + count(view["round_trips"]) + " of " +
                  count(view["proven_trips"]) + ". Follow it with wattle sleep history " + view["node"].text_or() + ".",
              0));
}

namespace {

struct NodeOptions {
  std::string node, why;
  bool all = false;
};

void declare_plan(CLI::App& command, Run& chosen) {
  runs(command, chosen, [](const Invocation& invocation) { return show(invocation, "sleep", {}, render_sleep_plan); });
}

void declare_exclude(CLI::App& command, Run& chosen) {
  NodeOptions& options = runs<NodeOptions>(command, chosen, [](const Invocation& invocation, const NodeOptions& given) {
    return show(invocation, "sleep-exclude", {{"node", given.node}, {"why", given.why}}, render_sleep_order);
  });
  command.add_option("NODE", options.node, "Name of the node, which need not be known yet")->required();
  command.add_option("--why", options.why, "Reason, for the plan and the audit log");
}

void declare_allow(CLI::App& command, Run& chosen) {
  NodeOptions& options = runs<NodeOptions>(command, chosen, [](const Invocation& invocation, const NodeOptions& given) {
    return show(invocation, "sleep-exclude", {{"node", given.node}, {"end", "yes"}}, render_sleep_order);
  });
  command.add_option("NODE", options.node, "Name of the node")->required();
}

void declare_wake(CLI::App& command, Run& chosen) {
  NodeOptions& options = runs<NodeOptions>(command, chosen, [](const Invocation& invocation, const NodeOptions& given) {
    std::map<std::string, std::string> arguments;
    if (!given.node.empty()) arguments["node"] = given.node;
    if (given.all) arguments["all"] = "yes";
    return show(invocation, "sleep-wake", arguments, render_sleep_wake);
  });
  CLI::Option* const node = command.add_option("NODE", options.node, "Name of the node");
  command.add_flag("--all", options.all, "Wake all nodes")->excludes(node);
}

void declare_test(CLI::App& command, Run& chosen) {
  NodeOptions& options = runs<NodeOptions>(command, chosen, [](const Invocation& invocation, const NodeOptions& given) {
    return show(invocation, "sleep-now", {{"node", given.node}}, render_sleep_test);
  });
  command.add_option("NODE", options.node, "Name of the node, without pods")->required();
}

constexpr std::array kSleepCommands{
    Command{"plan", "Show which nodes could sleep and why the others stay awake; changes nothing", declare_plan},
    Command{"status", "Show the power states of nodes, and the energy that sleep saved", declare_sleep_status},
    Command{"history", "Show the last transitions of all nodes, or of one", declare_sleep_history},
    Command{"wake", "Wake a node, or all", declare_wake},
    Command{"test", "Put an empty node to sleep and wake it, which proves a round trip", declare_test},
    Command{"exclude", "Exclude a node from sleep plans", declare_exclude},
    Command{"allow", "End the exclusion of a node", declare_allow}};

}  // namespace

void declare_sleep(CLI::App& command, Run& chosen) { add_commands(command, kSleepCommands, chosen); }

}  // namespace wattle::cli
