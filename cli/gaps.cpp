// `wattle gaps [--node NAME]`: lists runs of samples that are missing from the controller's store. An unknown node
// without gaps is an error.
#include <CLI/CLI.hpp>

#include "cli/human.hpp"
#include "cli/parts.hpp"
#include "cli/show.hpp"
#include "common/json/value.hpp"

namespace wattle::cli {

namespace {
constexpr double kNsPerS = 1e9;

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
  const auto right = Align::right;
  Table table{{{"NODE"}, {"NOTICED"}, {"RECORDS", right}, {"WHY"}}, {}};
  if (style.wide)
    for (Column column : std::vector<Column>{{"INCARNATION", right}, {"FIRST", right}, {"LAST", right}})
      table.columns.push_back(std::move(column));
  for (const View& gap : gaps) {
    const auto noticed_s = gap["noticed_wall_s"].number();
    std::vector<Cell> row{gap["node"].text_or(), utc(noticed_s ? std::optional(*noticed_s * kNsPerS) : std::nullopt),
                          count(gap["records"]), gap["why"].text_or()};
    if (style.wide)
      for (const char* key : {"incarnation", "first_seq", "last_seq"}) row.push_back(count(gap[key]));
    table.rows.push_back(std::move(row));
  }
  return to_text(table, style.colour);
}

void declare_gaps(CLI::App& command, Arguments& arguments) {
  command.add_option("--node", arguments.node, "Show only gaps of this node");
}

int run_gaps(const Invocation& invocation) {
  return with_controller(invocation, [&](Controller& controller) -> Result<int> {
    WATTLE_TRY(Json document, controller.ask("gaps", {}));
    if (const std::string& node = invocation.arguments.node; !node.empty()) {
      keep_node(document, node);
      // The store includes gaps of nodes that have not reconnected since the controller started.
      if (View(document)["gaps"].items().empty()) WATTLE_CHECK(controller.ask("node", {{"name", node}}));
    }
    WATTLE_CHECK(print(invocation, document, render_gaps));
    return kOk;
  });
}

}  // namespace wattle::cli
