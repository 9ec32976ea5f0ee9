// `wattle decisions [--limit N]`: the newest decisions and what became of them.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/human.hpp"
#include "cli/parts.hpp"
#include "cli/show.hpp"

namespace wattle::cli {

Result<std::string> render_decisions(const Json& document, const Style& style) {
  WATTLE_TRY(const std::vector<View> decisions, View(document).list("decisions"));
  if (decisions.empty()) return std::string("no decisions yet: nobody has asked\n");
  const auto right = Align::right;
  Table table{{{"ID", right},
               {"TIME"},
               {"POD"},
               {"ADVICE"},
               {"PLACED-ON"},
               {"REWARD", right},
               {"CANDIDATES", right},
               {"MASKED", right},
               {"REASON"}},
              {}};
  if (style.wide)
    for (Column column : std::vector<Column>{{"POLICY"},
                                             {"MODE"},
                                             {"PROPENSITY", right},
                                             {"EXPLORED"},
                                             {"MODEL-STEP", right},
                                             {"DECIDED-IN", right},
                                             {"PROBLEMS"}})
      table.columns.push_back(std::move(column));
  for (const View& decision : decisions) {
    const auto advice = decision["advice"].text();
    const auto placed = decision["placed_on"].text();
    std::vector<Cell> row{
        count(decision["id"].number()),
        utc(decision["wall_ns"].number()),
        pod_label(decision["pod_name"], decision["pod_namespace"], decision["pod_uid"]),
        advice.value_or(std::string(kAbsent)),
        {placed.value_or(std::string(kAbsent)), advice && placed && *advice != *placed ? Tone::warning : Tone::plain},
        number(decision["outcome"]["reward"].number(), 3),
        count(decision["candidates"].number()),
        count(decision["masked"].number()),
        decision["reason"].text_or()};
    if (style.wide) {
      std::vector<std::string> problems;
      for (const View& problem : decision["problems"].items()) problems.push_back(problem.any());
      const auto explored = decision["explored"].flag();
      for (Cell cell : std::vector<Cell>{
               decision["policy"].text_or(), decision["mode"].text_or(), number(decision["propensity"].number(), 2),
               explored ? (*explored ? "yes" : "no") : "-", count(decision["model_step"].number()),
               microseconds(decision["decide_us"].number()), joined(problems, "; ")})
        row.push_back(std::move(cell));
    }
    table.rows.push_back(std::move(row));
  }
  return to_text(table, style.colour);
}

void declare_decisions(CLI::App& command, Arguments& arguments) {
  command.add_option("--limit", arguments.limit, "How many, 1 to 1000")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
}

int run_decisions(const Invocation& invocation) {
  return show(invocation, "decisions", {{"limit", std::to_string(invocation.arguments.limit)}}, render_decisions);
}

}  // namespace wattle::cli
