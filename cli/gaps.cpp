// `wattle gaps [--node NAME]`: lists runs of samples that are missing from the controller's store. An unknown node
// without gaps is an error.

#include "cli/declare.hpp"
#include "cli/human.hpp"
#include "cli/parts.hpp"
#include "cli/show.hpp"

namespace wattle::cli {

namespace {
void keep_node(Json& document, const std::string& node) {
  const auto found = document.find("gaps");
  if (found == document.end() || !found->is_array()) return;
  Json kept = Json::array();
  for (const Json& gap : *found)
    if (gap.is_object() && gap.contains("node") && gap["node"] == node) kept.push_back(gap);
  *found = std::move(kept);
}
}  // namespace

Result<std::string> render_gaps(const Json& document, const Style& style) {
  WATTLE_TRY(const std::vector<View> gaps, View(document).list("gaps"));
  if (gaps.empty()) return std::string("no gaps: the store has every sample that agents reported\n");
  Table table{{"NODE", "NOTICED", ">RECORDS", "WHY"}, {}};
  if (style.wide) table.columns.insert(table.columns.end(), {">INCARNATION", ">FIRST", ">LAST"});
  for (const View& gap : gaps) {
    std::vector<Cell> row{gap["node"].text_or(), utc_s(gap["noticed_wall_s"]), count(gap["records"]),
                          gap["why"].text_or()};
    if (style.wide)
      for (const char* key : {"incarnation", "first_seq", "last_seq"}) row.push_back(count(gap[key]));
    table.rows.push_back(std::move(row));
  }
  return to_text(table, style.colour);
}

namespace {
struct GapsOptions {
  std::string node;
};

Outcome run_gaps(const Invocation& invocation, const GapsOptions& options) {
  return with_controller(invocation, [&](Controller& controller) -> Result<int> {
    WATTLE_TRY(Json document, controller.ask("gaps", {}));
    if (!options.node.empty()) {
      keep_node(document, options.node);
      // The store includes gaps of nodes that have not reconnected since the controller started.
      if (View(document)["gaps"].items().empty()) WATTLE_CHECK(controller.ask("node", {{"name", options.node}}));
    }
    WATTLE_CHECK(print(invocation, document, render_gaps));
    return kOk;
  });
}
}  // namespace

void declare_gaps(CLI::App& command, Run& chosen) {
  auto& options = runs(command, chosen, run_gaps);
  command.add_option("--node", options.node, "Show only gaps of this node")->type_name("NODE");
}

}  // namespace wattle::cli
