// `wattle decisions [--limit N] [--since 7d]`: the newest decisions and what became of them.
#include <CLI/CLI.hpp>
#include <map>

#include "cli/human.hpp"
#include "cli/parts.hpp"
#include "cli/show.hpp"
#include "common/json/value.hpp"

namespace wattle::cli {

namespace {

// Rewards of two presets are not comparable in one column: each then shows its preset.
bool mixes_presets(const std::vector<View>& decisions) {
  std::optional<std::string> first;
  for (const View& decision : decisions) {
    const auto preset = decision["outcome"]["preset"].text();
    if (!preset) continue;
    if (first && *first != *preset) return true;
    first = preset;
  }
  return false;
}

std::string reward_text(const View& outcome, bool with_preset) {
  const std::string reward = number(outcome["reward"].number(), 3);
  const auto preset = outcome["preset"].text();
  return with_preset && preset ? reward + " " + *preset : reward;
}

}  // namespace

Result<std::string> render_decisions(const Json& document, const Style& style) {
  WATTLE_TRY(const std::vector<View> decisions, View(document).list("decisions"));
  const auto kept = View(document)["kept"].number();
  if (decisions.empty())
    return std::string(kept ? "the store has no decision of that time\n"
                            : "no decisions yet: the controller has received no request\n");
  const auto right = Align::right;
  Table table{{{"ID", right}, {"TIME"}, {"POD"}, {"BY"}, {"ADVICE"}, {"ADDS", right}, {"PLACED-ON"}, {"REWARD", right}},
              {}};
  if (style.wide)
    for (Column column : std::vector<Column>{{"CANDIDATES", right},
                                             {"MASKED", right},
                                             {"POLICY"},
                                             {"MODE"},
                                             {"PROPENSITY", right},
                                             {"EXPLORED"},
                                             {"MODEL-STEP", right},
                                             {"DECIDED-IN", right},
                                             {"PROBLEMS"},
                                             {"REASON"}})
      table.columns.push_back(std::move(column));
  const bool mixed = mixes_presets(decisions);
  for (const View& decision : decisions) {
    const auto advice = decision["advice"].text();
    const auto placed = decision["placed_on"].text();
    std::vector<Cell> row{
        count(decision["id"]),
        utc(decision["wall_ns"].number()),
        pod_label(decision["pod_name"], decision["pod_namespace"], decision["pod_uid"]),
        decision["decided_by"].text_or(),
        advice.value_or(std::string(kAbsent)),
        advice && decision["marginal_w"].number() ? watts(decision["marginal_w"].number()) + " est"
                                                  : std::string(kAbsent),
        {placed.value_or(std::string(kAbsent)), advice && placed && *advice != *placed ? Tone::warning : Tone::plain},
        reward_text(decision["outcome"], style.wide || mixed)};
    if (style.wide) {
      std::vector<std::string> problems;
      for (const View& problem : decision["problems"].items()) problems.push_back(problem.any());
      const auto explored = decision["explored"].flag();
      for (Cell cell : std::vector<Cell>{
               count(decision["candidates"]), count(decision["masked"]), decision["policy"].text_or(),
               decision["mode"].text_or(), number(decision["propensity"].number(), 2),
               explored ? (*explored ? "yes" : "no") : "-", count(decision["model_step"]),
               microseconds(decision["decide_us"].number()), joined(problems, "; "), decision["reason"].text_or()})
        row.push_back(std::move(cell));
    }
    table.rows.push_back(std::move(row));
  }
  std::string text = to_text(table, style.colour);
  if (kept && *kept > static_cast<double>(decisions.size()))
    text += "showing the newest " + std::to_string(decisions.size()) + " of " + count(View(document)["kept"]) +
            " (show more with --limit)\n";
  return text;
}

void declare_decisions(CLI::App& command, Arguments& arguments) {
  command.add_option("--since", arguments.since,
                     "Show decisions of this period from the controller's store, for example 90m, 24h or 7d");
  command.add_option("--limit", arguments.limit, "Number of decisions, 1 to 1000")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
}

int run_decisions(const Invocation& invocation) {
  std::map<std::string, std::string> query{{"limit", std::to_string(invocation.arguments.limit)}};
  if (!invocation.arguments.since.empty()) query["since"] = invocation.arguments.since;
  return show(invocation, "decisions", query, render_decisions);
}

}  // namespace wattle::cli
