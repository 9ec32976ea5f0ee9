// `wattle decisions [--limit N] [--since 7d]`: lists the newest decisions and their outcomes.

#include "cli/declare.hpp"
#include "cli/human.hpp"
#include "cli/list.hpp"
#include "cli/parts.hpp"
#include "cli/watch.hpp"

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
  const std::string reward = number(outcome["reward"], 3);
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
  Table table{{">ID", "TIME", "POD", "BY", "ADVICE", ">ADDS", "PLACED", ">REWARD"}, {}};
  if (style.wide)
    table.columns.insert(table.columns.end(), {">CANDIDATES", ">MASKED", "POLICY", "MODE", ">PROPENSITY", "EXPLORED",
                                               ">MODEL-STEP", ">DECIDED-IN", "PROBLEMS", "REASON"});
  const bool mixed = mixes_presets(decisions);
  for (const View& decision : decisions) {
    const auto advice = decision["advice"].text();
    const auto placed = decision["placed_on"].text();
    std::vector<Cell> row{
        count(decision["id"]),
        utc(decision["wall_ns"]),
        pod_label(decision["pod_name"], decision["pod_namespace"], decision["pod_uid"]),
        decider_of(decision),
        advice.value_or(std::string(kAbsent)),
        advice && decision["marginal_w"].number() ? watts(decision["marginal_w"]) : std::string(kAbsent),
        {placed.value_or(std::string(kAbsent)), advice && placed && *advice != *placed ? Tone::warning : Tone::plain},
        reward_text(decision["outcome"], style.wide || mixed)};
    if (style.wide) {
      std::vector<std::string> problems;
      for (const View& problem : decision["problems"].items()) problems.push_back(problem.any());
      const auto explored = decision["explored"].flag();
      row.insert(row.end(),
                 {count(decision["candidates"]), count(decision["masked"]), decision["policy"].text_or(),
                  decision["mode"].text_or(), number(decision["propensity"], 2),
                  explored ? (*explored ? "yes" : "no") : "-", count(decision["model_step"]),
                  microseconds(decision["decide_us"]), joined(problems, "; "), decision["reason"].text_or()});
    }
    table.rows.push_back(std::move(row));
  }
  std::string text = to_text(table, style);
  if (kept && *kept > static_cast<double>(decisions.size()))
    text += "showing the newest " + std::to_string(decisions.size()) + " of " + count(View(document)["kept"]) +
            " (show more with --limit)\n";
  return text;
}

namespace {
constexpr std::size_t kMostDecisions = 1000;  // of one query

struct DecisionsOptions : ListOptions {
  std::string since;
  std::size_t limit = 20;
};

Outcome run_decisions(const Invocation& invocation, const DecisionsOptions& options) {
  if (options.watch) return watch_decisions(invocation, options.name_space);
  // The newest decisions of a namespace may be beyond the newest of all.
  const std::size_t limit = options.name_space.empty() ? options.limit : kMostDecisions;
  Query query{{"limit", std::to_string(limit)}};
  if (!options.since.empty()) query["since"] = options.since;
  return show_list(invocation, list_of("decisions"), options, std::move(query), options.limit);
}
}  // namespace

void declare_decisions(CLI::App& command, Run& chosen) {
  auto& options = runs(command, chosen, run_decisions);
  declare_list(command, list_of("decisions"), options);
  auto* since =
      command.add_option("--since", options.since,
                         "Show decisions of this period from the controller's store, for example 90m, 24h or 7d");
  command.add_option("--limit", options.limit, "Number of decisions, 1 to 1000")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  // -w prints decisions as they are made, so it supports neither an order nor a start.
  command.get_option("--watch")->excludes(since)->excludes(command.get_option("--sort-by"));
}

}  // namespace wattle::cli
