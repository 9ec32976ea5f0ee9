// `wattle nodes`: lists nodes, one per line.

#include "cli/declare.hpp"
#include "cli/human.hpp"
#include "cli/list.hpp"
#include "cli/parts.hpp"

namespace wattle::cli {

namespace {
std::string used_of(const std::string& used, const std::string& all) {
  return used == kAbsent && all == kAbsent ? used : used + " / " + all;
}

std::optional<double> ratio_of(std::optional<double> part, std::optional<double> whole) {
  if (!part || !whole || *whole <= 0) return std::nullopt;
  return *part / *whole;
}

std::string curve_text(const View& curve) {
  if (!curve.present()) return std::string(kAbsent);
  return number(curve["idle_w"], 0) + ".." + number(curve["max_w"], 0) + " W " + curve["source"].text_or() + " (" +
         count(curve["samples"]) + ")";
}

std::vector<Cell> row_of(const View& node, bool wide) {
  const View psi = node["psi"];
  const Cell state = state_cell(node);
  const Tone tone = state.tone == Tone::bad ? Tone::bad : Tone::plain;
  const std::string source = node["energy_source"].text_or("");
  const auto used_bytes = node["memory_used_bytes"].number();
  const auto total_bytes = node["memory_total_bytes"].number();
  std::vector<Cell> row{{node["name"].text_or(), tone},
                        state,
                        watts(node["power_w"], source),
                        used_of(number(node["cpu_used_cores"], 2), number(node["cpu_cores"], 0)),
                        percent(ratio_of(used_bytes, total_bytes)),
                        pressure_cell(most_pressure(psi)),
                        wide ? used_of(count(node["pods"]), count(node["pod_capacity"])) : count(node["pods"]),
                        latency_cell(node),
                        {age(node["age_ms"]), tone}};
  if (!wide) return row;
  row.insert(row.end(), {pressure_cell(psi["cpu_some_ratio"]),
                         pressure_cell(psi["memory_some_ratio"]),
                         pressure_cell(psi["io_some_ratio"]),
                         watts(node["idle_w"], source),
                         watts(active_w(node), source),
                         joules(node["energy_j"]),
                         cost_cell(node),
                         curve_text(node["curve"]),
                         used_of(bytes(used_bytes), bytes(total_bytes)),
                         number(node["cpu_requested_cores"], 2),
                         bytes(node["memory_requested_bytes"]),
                         count(node["in_flight"]),
                         bytes_per_s(node["net_rx_bytes_per_s"]),
                         bytes_per_s(node["net_tx_bytes_per_s"]),
                         bytes_per_s(node["disk_read_bytes_per_s"]),
                         bytes_per_s(node["disk_write_bytes_per_s"]),
                         percent(node["disk_used_ratio"]),
                         count(node["tcp_established"]),
                         node["agent_version"].text_or(),
                         count(node["incarnation"])});
  return row;
}
}  // namespace

Table nodes_table(const std::vector<View>& nodes, bool wide) {
  Table table{{"NODE", "STATE", "POWER", ">CPU", ">MEM", ">PRESSURE", ">PODS", "LATENCY", ">AGE"}, {}};
  if (wide)
    table.columns.insert(table.columns.end(),
                         {">PSI-CPU", ">PSI-MEM", ">PSI-IO",  "IDLE",     "ACTIVE",     ">ENERGY",     "COST",
                          "CURVE",    ">MEMORY",  ">CPU-REQ", ">MEM-REQ", ">IN-FLIGHT", ">NET-RX",     ">NET-TX",
                          ">DISK-RD", ">DISK-WR", ">DISK",    ">TCP",     "VERSION",    ">INCARNATION"});
  for (const View& node : nodes) table.rows.push_back(row_of(node, wide));
  return table;
}

Result<std::string> render_nodes(const Json& document, const Style& style) {
  WATTLE_TRY(const std::vector<View> nodes, View(document).list("nodes"));
  if (nodes.empty()) return kNoNodes;
  return to_text(nodes_table(nodes, style.wide), style);
}

void declare_nodes(CLI::App& command, Run& chosen) {
  auto& options = runs<ListOptions>(command, chosen, [](const Invocation& invocation, const ListOptions& given) {
    return show_list(invocation, list_of("nodes"), given);
  });
  declare_list(command, list_of("nodes"), options);
}

}  // namespace wattle::cli
