// `wattle nodes`: lists nodes, one per line.

#include "cli/human.hpp"
#include "cli/parts.hpp"
#include "cli/show.hpp"
#include "common/json/value.hpp"

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
  return number(curve["idle_w"].number(), 0) + ".." + number(curve["max_w"].number(), 0) + " W " +
         curve["source"].text_or() + " (" + count(curve["samples"]) + ")";
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
                        {age(node["age_ms"].number()), tone},
                        used_of(number(node["cpu_used_cores"].number(), 2), number(node["cpu_cores"].number(), 0)),
                        percent(ratio_of(used_bytes, total_bytes)),
                        pressure_cell(psi["cpu_some_ratio"].number()),
                        pressure_cell(psi["memory_some_ratio"].number()),
                        pressure_cell(psi["io_some_ratio"].number()),
                        watts(node["power_w"].number(), source),
                        wide ? used_of(count(node["pods"]), count(node["pod_capacity"])) : count(node["pods"]),
                        latency_cell(node)};
  if (!wide) return row;
  for (Cell cell : std::vector<Cell>{
           watts(node["idle_w"].number(), source), joules(node["energy_j"].number()), curve_text(node["curve"]),
           used_of(bytes(used_bytes), bytes(total_bytes)), number(node["cpu_requested_cores"].number(), 2),
           bytes(node["memory_requested_bytes"].number()), count(node["in_flight"]),
           bytes_per_s(node["net_rx_bytes_per_s"].number()), bytes_per_s(node["net_tx_bytes_per_s"].number()),
           bytes_per_s(node["disk_read_bytes_per_s"].number()), bytes_per_s(node["disk_write_bytes_per_s"].number()),
           percent(node["disk_used_ratio"].number()), count(node["tcp_established"]), node["agent_version"].text_or(),
           count(node["incarnation"])})
    row.push_back(std::move(cell));
  return row;
}
}  // namespace

Table nodes_table(const std::vector<View>& nodes, bool wide) {
  const auto right = Align::right;
  Table table{{{"NODE"},
               {"STATE"},
               {"AGE", right},
               {"CPU", right},
               {"MEM", right},
               {"PSI-CPU", right},
               {"PSI-MEM", right},
               {"PSI-IO", right},
               {"POWER"},
               {"PODS", right},
               {"LATENCY"}},
              {}};
  if (wide)
    for (Column column : std::vector<Column>{{"IDLE"},
                                             {"ENERGY", right},
                                             {"CURVE"},
                                             {"MEMORY", right},
                                             {"CPU-REQ", right},
                                             {"MEM-REQ", right},
                                             {"IN-FLIGHT", right},
                                             {"NET-RX", right},
                                             {"NET-TX", right},
                                             {"DISK-RD", right},
                                             {"DISK-WR", right},
                                             {"DISK", right},
                                             {"TCP", right},
                                             {"VERSION"},
                                             {"INCARNATION", right}})
      table.columns.push_back(std::move(column));
  for (const View& node : nodes) table.rows.push_back(row_of(node, wide));
  return table;
}

Result<std::string> render_nodes(const Json& document, const Style& style) {
  WATTLE_TRY(const std::vector<View> nodes, View(document).list("nodes"));
  if (nodes.empty()) return kNoNodes;
  return to_text(nodes_table(nodes, style.wide), style.colour);
}

int run_nodes(const Invocation& invocation) { return show(invocation, "nodes", {}, render_nodes); }

}  // namespace wattle::cli
