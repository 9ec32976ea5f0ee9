// `wattle pods [--node N]`: lists pods, the busiest first.
#include <CLI/CLI.hpp>

#include "cli/human.hpp"
#include "cli/parts.hpp"
#include "cli/show.hpp"
#include "common/json/value.hpp"

namespace wattle::cli {

namespace {
std::vector<Cell> row_of(const View& pod, const Sources& sources, bool wide) {
  const View psi = pod["psi"];
  const std::string node = pod["node"].text_or();
  const auto source = sources.find(node);
  const auto age_s = pod["age_s"].number();
  std::vector<Cell> row{pod_label(pod["name"], pod["namespace"], pod["uid"]),
                        node,
                        number(pod["cpu_cores"].number(), 2),
                        bytes(pod["memory_bytes"].number()),
                        watts(pod["power_w"].number(), source == sources.end() ? "" : source->second),
                        joules(pod["energy_j"].number()),
                        pressure_cell(psi["cpu_some_ratio"].number()),
                        age(age_s ? std::optional(*age_s * 1000) : std::nullopt),
                        count(pod["decision_id"])};
  if (!wide) return row;
  for (Cell cell :
       std::vector<Cell>{pressure_cell(psi["memory_some_ratio"].number()), pressure_cell(psi["io_some_ratio"].number()),
                         pod["kind"].text_or(), count(pod["cgroup_id"]), pod["uid"].text_or()})
    row.push_back(std::move(cell));
  return row;
}
}  // namespace

Table pods_table(const std::vector<View>& pods, const Sources& sources, bool wide) {
  const auto right = Align::right;
  Table table{{{"POD"},
               {"NODE"},
               {"CPU", right},
               {"MEMORY", right},
               {"POWER"},
               {"ENERGY", right},
               {"PSI-CPU", right},
               {"AGE", right},
               {"DECISION", right}},
              {}};
  if (wide)
    for (Column column :
         std::vector<Column>{{"PSI-MEM", right}, {"PSI-IO", right}, {"KIND"}, {"CGROUP", right}, {"UID"}})
      table.columns.push_back(std::move(column));
  for (const View& pod : pods) table.rows.push_back(row_of(pod, sources, wide));
  return table;
}

Sources energy_sources(const Json& nodes) {
  Sources out;
  for (const View& node : View(nodes)["nodes"].items())
    if (const auto source = node["energy_source"].text()) out[node["name"].text_or()] = *source;
  return out;
}

Result<std::string> render_pods(const Json& document, const Sources& sources, const Style& style) {
  WATTLE_TRY(const std::vector<View> pods, View(document).list("pods"));
  if (pods.empty()) return std::string("no pods\n");
  return to_text(pods_table(pods, sources, style.wide), style.colour);
}

void declare_pods(CLI::App& command, Arguments& arguments) {
  command.add_option("--node", arguments.node, "Show only pods of this node");
}

int run_pods(const Invocation& invocation) {
  return with_controller(invocation, [&](Controller& controller) -> Result<int> {
    std::map<std::string, std::string> only;
    if (!invocation.arguments.node.empty()) only["node"] = invocation.arguments.node;
    WATTLE_TRY(const Json document, controller.ask("pods", only));
    Sources sources;
    if (invocation.arguments.output == Output::table || invocation.arguments.output == Output::wide) {
      WATTLE_TRY(const Json nodes, controller.ask("nodes", {}));
      sources = energy_sources(nodes);
    }
    WATTLE_CHECK(print(invocation, document,
                       [&](const Json& pods, const Style& style) { return render_pods(pods, sources, style); }));
    return kOk;
  });
}

}  // namespace wattle::cli
