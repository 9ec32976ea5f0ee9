// `wattle report [--since 7d] [--by namespace|owner|node|label|container] [--label KEY] [--pod POD]`: reports usage
// from the controller's store.
#include <algorithm>
#include <map>

#include "cli/controller.hpp"
#include "cli/declare.hpp"
#include "cli/human.hpp"
#include "cli/show.hpp"
#include "cli/table.hpp"
#include "cli/view.hpp"

namespace wattle::cli {

namespace {
double sum_of(const View& energy) {
  return energy["measured_j"].number().value_or(0) + energy["estimated_j"].number().value_or(0);
}

// Renders measured and estimated energy, the estimate marked "est".
std::string energy_text(const View& energy) {
  const auto measured = energy["measured_j"].number(), estimated = energy["estimated_j"].number();
  if (!estimated || *estimated == 0) return joules(measured);
  const std::string text = joules(estimated) + " est";
  return !measured || *measured == 0 ? text : joules(measured) + " + " + text;
}

std::string core_hours(const View& hours) { return number(hours, hours.number().value_or(0) < 1 ? 3 : 2); }

struct Lines {
  Table table;
  double all_j = 0;
  bool by_node = false, cost = false, co2 = false;  // columns
  bool times = true;                                // a plain table by node has no room for them

  void add(const std::string& key, const View& row, Tone tone = Tone::plain) {
    std::vector<Cell> cells{{key, tone},
                            joules(row["measured_j"]),
                            joules(row["estimated_j"]),
                            all_j > 0 ? percent(sum_of(row) / all_j) : std::string(kAbsent),
                            core_hours(row["core_h"])};
    if (times) cells.insert(cells.end(), {age_s(row["waited_s"]), percent(row["waiting_ratio"])});
    cells.emplace_back(count(row["placements"]));
    if (times) cells.emplace_back(count(row["workloads"]));
    if (cost) cells.emplace_back(money(row["cost"].number(), row["currency"].text_or("")));
    if (co2) cells.emplace_back(grams(row["co2_g"].number()));
    if (by_node)
      for (const char* part : {"idle", "unattributed", "drawn"}) cells.emplace_back(energy_text(row[part]));
    table.rows.push_back(std::move(cells));
  }
};

std::string title_of(const View& report) {
  std::string title = report["label"].text() ? report["label"].text_or() : report["by"].text_or();
  std::transform(title.begin(), title.end(), title.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return title;
}

std::string span_text(const View& report) {
  const std::string from = utc_s(report["from_wall_s"]);
  if (report["cut"].flag().value_or(false)) return "from " + from + " on; there is no earlier data\n";
  return "from " + from + " to " + utc_s(report["to_wall_s"]) + "\n";
}
}  // namespace

Result<std::string> render_report(const Json& document, const Style& style) {
  const View report(document);
  WATTLE_TRY(const std::vector<View> rows, report.list("rows"));
  if (!report["from_wall_s"].present())
    return std::string("no usage recorded yet: the store has received no samples\n");
  Lines lines;
  lines.all_j = sum_of(report["nodes"]);
  lines.by_node = report["by"].text_or() == "node";
  lines.times = style.wide || !lines.by_node;
  lines.table.columns = {title_of(report), ">MEASURED", ">ESTIMATED", ">SHARE", ">CORE-HOURS"};
  if (lines.times) lines.table.columns.insert(lines.table.columns.end(), {">WAITED", ">WAITING"});
  lines.table.columns.push_back(">PLACED");
  if (lines.times) lines.table.columns.push_back(">WORKLOADS");
  lines.cost = report["nodes"]["cost"].present();
  lines.co2 = report["nodes"]["co2_g"].present();
  if (lines.cost) lines.table.columns.push_back(">COST");
  if (lines.co2) lines.table.columns.push_back(">CO2");
  if (lines.by_node) lines.table.columns.insert(lines.table.columns.end(), {">IDLE", ">UNATTRIBUTED", ">DRAWN"});
  for (const View& row : rows) lines.add(row["key"].text_or(), row);
  if (report["rest"].present()) lines.add("(" + count(report["rest"]["rows"]) + " more)", report["rest"]);
  for (const char* part : {"idle", "unattributed", "missing"})
    if (part != std::string_view("missing") || std::abs(sum_of(report[part])) >= 1)
      lines.add("(" + std::string(part) + ")", report[part], Tone::faint);
  lines.add("(all nodes)", report["nodes"]);
  std::string text = span_text(report) + to_text(lines.table, style.colour);
  if (report["rest"].present()) text += "show more rows with --limit\n";
  if (report["savings"].present())
    text += "\nsavings available now (wattle savings shows each):\n" + savings_table(report["savings"], style.colour);
  return text;
}

void declare_report(CLI::App& command, Run& chosen) {
  struct Options {
    std::string since, by, label, pod;
    int limit = 20;
  };
  auto& options = runs<Options>(command, chosen, [](const Invocation& invocation, const Options& given) {
    std::map<std::string, std::string> query{{"limit", std::to_string(given.limit)}};
    for (const auto& [name, value] : {std::pair{"since", &given.since}, std::pair{"by", &given.by},
                                      std::pair{"label", &given.label}, std::pair{"pod", &given.pod}})
      if (!value->empty()) query[name] = *value;
    return with_controller(invocation, [&](Controller& controller) -> Result<int> {
      WATTLE_TRY(Json document, controller.ask("report", query));
      // An older controller has no such document.
      if (auto savings = controller.ask("savings", {}); savings && given.pod.empty()) document["savings"] = *savings;
      WATTLE_CHECK(print(invocation, document, render_report));
      return kOk;
    });
  });
  command.add_option("--since", options.since, "Period in whole hours, for example 24h or 7d (default 7d)");
  command.add_option("--by", options.by, "Group by")
      ->check(CLI::IsMember({"namespace", "owner", "node", "label", "container"}))
      ->default_str("namespace");
  command.add_option("--label", options.label, "With --by label: key of the label");
  command.add_option("--pod", options.pod, "Show only the containers of this pod: its name, NAMESPACE/NAME or UID")
      ->type_name("POD");
  command.add_option("--limit", options.limit, "Number of rows, 1 to 1000; the last row sums up the others")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
}

}  // namespace wattle::cli
