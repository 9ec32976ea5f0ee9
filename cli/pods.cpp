// `wattle pods [--node N]`: lists pods, the busiest first.

#include "cli/declare.hpp"
#include "cli/human.hpp"
#include "cli/parts.hpp"
#include "cli/show.hpp"

namespace wattle::cli {

namespace {
std::vector<Cell> row_of(const View& pod, const Sources& sources, bool wide) {
  const View psi = pod["psi"];
  const std::string node = pod["node"].text_or();
  const auto source = sources.find(node);
  std::vector<Cell> row{pod_label(pod["name"], pod["namespace"], pod["uid"]),
                        node,
                        number(pod["cpu_cores"], 2),
                        bytes(pod["memory_bytes"]),
                        watts(pod["power_w"], source == sources.end() ? "" : source->second),
                        joules(pod["energy_j"]),
                        pressure_cell(psi["cpu_some_ratio"]),
                        age_s(pod["age_s"]),
                        count(pod["decision_id"])};
  if (!wide) return row;
  row.insert(row.end(), {pressure_cell(psi["memory_some_ratio"]), pressure_cell(psi["io_some_ratio"]),
                         pod["kind"].text_or(), count(pod["cgroup_id"]), pod["uid"].text_or()});
  return row;
}
}  // namespace

Table pods_table(const std::vector<View>& pods, const Sources& sources, bool wide) {
  Table table{{"POD", "NODE", ">CPU", ">MEMORY", "POWER", ">ENERGY", ">PSI-CPU", ">AGE", ">DECISION"}, {}};
  if (wide) table.columns.insert(table.columns.end(), {">PSI-MEM", ">PSI-IO", "KIND", ">CGROUP", "UID"});
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

namespace {
struct PodsOptions {
  std::string node;
};

Outcome run_pods(const Invocation& invocation, const PodsOptions& options) {
  return with_controller(invocation, [&](Controller& controller) -> Result<int> {
    std::map<std::string, std::string> only;
    if (!options.node.empty()) only["node"] = options.node;
    WATTLE_TRY(const Json document, controller.ask("pods", only));
    Sources sources;
    if (invocation.common.output == Output::table || invocation.common.output == Output::wide) {
      WATTLE_TRY(const Json nodes, controller.ask("nodes", {}));
      sources = energy_sources(nodes);
    }
    WATTLE_CHECK(print(invocation, document,
                       [&](const Json& pods, const Style& style) { return render_pods(pods, sources, style); }));
    return kOk;
  });
}
}  // namespace

void declare_pods(CLI::App& command, Run& chosen) {
  auto& options = runs(command, chosen, run_pods);
  command.add_option("--node", options.node, "Show only pods of this node");
}

}  // namespace wattle::cli
