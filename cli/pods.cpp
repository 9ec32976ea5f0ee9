// `wattle pods [--node N]`: lists pods, the busiest first.

#include "cli/declare.hpp"
#include "cli/human.hpp"
#include "cli/list.hpp"
#include "cli/parts.hpp"

namespace wattle::cli {

namespace {
std::vector<Cell> pod_row(const View& pod, bool wide) {
  const View psi = pod["psi"];
  std::vector<Cell> row{pod_label(pod["name"], pod["namespace"], pod["uid"]),
                        pod["node"].text_or(),
                        watts(pod["power_w"], pod["energy_source"].text_or("")),
                        joules(pod["energy_j"]),
                        number(pod["cpu_cores"], 2),
                        bytes(pod["memory_bytes"]),
                        pressure_cell(most_pressure(psi)),
                        age_s(pod["age_s"])};
  if (!wide) return row;
  row.insert(row.end(), {cost_cell(pod), pressure_cell(psi["cpu_some_ratio"]), pressure_cell(psi["memory_some_ratio"]),
                         pressure_cell(psi["io_some_ratio"]), count(pod["decision_id"]), pod["kind"].text_or(),
                         count(pod["cgroup_id"]), pod["uid"].text_or()});
  return row;
}
}  // namespace

Table pods_table(const std::vector<View>& pods, bool wide) {
  Table table{{"POD", "NODE", "POWER", ">ENERGY", ">CPU", ">MEMORY", ">PRESSURE", ">AGE"}, {}};
  if (wide)
    table.columns.insert(table.columns.end(),
                         {"COST", ">PSI-CPU", ">PSI-MEM", ">PSI-IO", ">DECISION", "KIND", ">CGROUP", "UID"});
  for (const View& pod : pods) table.rows.push_back(pod_row(pod, wide));
  return table;
}

Result<std::string> render_pods(const Json& document, const Style& style) {
  WATTLE_TRY(const std::vector<View> pods, View(document).list("pods"));
  if (pods.empty()) return std::string("no pods\n");
  return to_text(pods_table(pods, style.wide), style);
}

namespace {
struct PodsOptions : ListOptions {
  std::string node;
};

Outcome run_pods(const Invocation& invocation, const PodsOptions& options) {
  Query only;
  if (!options.node.empty()) only["node"] = options.node;
  return show_list(invocation, list_of("pods"), options, std::move(only));
}
}  // namespace

void declare_pods(CLI::App& command, Run& chosen) {
  auto& options = runs(command, chosen, run_pods);
  declare_list(command, list_of("pods"), options);
  command.add_option("--node", options.node, "Show only pods of this node")->type_name("NODE");
}

}  // namespace wattle::cli
