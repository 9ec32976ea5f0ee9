// `wattle explain POD --without NODE`, `--weight`, `--cpu` and so on: shows the decision beside the one that other
// inputs would give.
#include <algorithm>

#include "cli/human.hpp"
#include "cli/parts.hpp"
#include "common/printable.hpp"

namespace wattle::cli {

namespace {

View of_node(const View& answer, const std::string& node) {
  for (const View& candidate : answer["candidates"].items())
    if (candidate["node"].text() == node) return candidate;
  return {};
}

// "sim-03, where it adds 4.2 W by the model", "no node (no candidate is feasible: ...)"
std::string advised_text(const View& answer) {
  const auto node = answer["advice"].text();
  if (!node) return "no node (" + answer["reason"].text_or() + ")";
  const auto watts = of_node(answer, *node)["marginal_w"].number();
  return *node + (watts ? ", where it adds " + number(*watts, 1) + " W by the model" : "");
}

// Lists the inputs that differ from the decision's own.
std::string difference(const View& asked) {
  const View as_is = asked["as_is"], otherwise = asked["otherwise"];
  std::vector<std::string> parts;
  std::vector<std::string> without;
  for (const View& node : asked["without"].items()) without.push_back(node.text_or());
  if (!without.empty()) parts.push_back("without " + joined(without, ", "));
  const auto differs = [](const View& a, const View& b) { return a.any() != b.any(); };
  if (differs(as_is["cpu_request_cores"], otherwise["cpu_request_cores"]))
    parts.push_back(number(otherwise["cpu_request_cores"], 3) + " cores instead of " +
                    number(as_is["cpu_request_cores"], 3));
  if (differs(as_is["memory_request_bytes"], otherwise["memory_request_bytes"]))
    parts.push_back(bytes(otherwise["memory_request_bytes"]) + " instead of " + bytes(as_is["memory_request_bytes"]));
  const View was = as_is["reward"], is = otherwise["reward"];
  for (const char* name : {"preset", "load", "expression"})
    if (differs(was[name], is[name])) parts.push_back(std::string(name) + " " + is[name].any());
  for (const auto& [name, value] : is["weights"].members())
    if (differs(was["weights"][name], value)) parts.push_back("weight of " + name + " " + value.any());
  return parts.empty() ? "unchanged" : joined(parts, ", ");
}

// Sorted by Q as it would be then; nodes that could not take the pod come last.
Table both_table(const View& as_is, const View& otherwise) {
  Table table{{"ADVISED", "NODE", ">Q", ">SCORE", "ADDS", ">THEN Q", ">THEN SCORE", "THEN ADDS", "THEN EXCLUDED"}, {}};
  std::vector<std::string> names;
  for (const View& answer : {otherwise, as_is})
    for (const View& candidate : answer["candidates"].items())
      if (const std::string name = candidate["node"].text_or();
          std::find(names.begin(), names.end(), name) == names.end())
        names.push_back(name);
  for (const std::string& name : names) {
    const View before = of_node(as_is, name), after = of_node(otherwise, name);
    const bool now = as_is["advice"].text() == name, then = otherwise["advice"].text() == name;
    const Tone tone = then ? Tone::good : Tone::plain;
    std::vector<Cell> row{{now && then ? "now, then" : now ? "now" : then ? "then" : "", tone}, {name, tone}};
    for (const View& candidate : {before, after}) {
      row.emplace_back(number(candidate["q"], 3));
      row.emplace_back(count(candidate["score"]));
      row.emplace_back(watts(candidate["marginal_w"], "estimated"));
    }
    row.push_back({after["masked"].text().value_or(""), Tone::warning});
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

Result<std::string> render_what_if(const Json& document, const Style& style) {
  WATTLE_TRY(const View asked, View(document).object("what_if"));
  WATTLE_TRY(const View as_is, asked.object("as_is"));
  WATTLE_TRY(const View otherwise, asked.object("otherwise"));
  const std::string pod = pod_label(asked["pod_name"], asked["pod_namespace"], asked["pod_uid"]);
  std::string text =
      "What if " + pod + " (decision " + count(asked["decision"]) + ") were placed now, " + difference(asked) + "?\n";
  text += "Now:   " + advised_text(as_is) + ".\n";
  text += "Then:  " + advised_text(otherwise) + ".\n";
  const auto advice = otherwise["advice"].text();
  if (advice && advice == as_is["advice"].text()) text += "The advice would not change.\n";
  return printable_lines(text) + "\n" + to_text(both_table(as_is, otherwise), style.colour);
}

}  // namespace wattle::cli
