// `wattle node NAME`: one node with its findings, energy domains and workloads.

#include "cli/declare.hpp"
#include "cli/human.hpp"
#include "cli/parts.hpp"
#include "cli/show.hpp"

namespace wattle::cli {

namespace {
std::string features_of(const View& node) {
  std::vector<std::string> out;
  for (const View& feature : node["features"].items()) out.push_back(feature.any());
  return out.empty() ? std::string(kAbsent) : joined(out, ", ");
}

std::string labels_of(const View& node) {
  std::vector<std::string> out;
  for (const auto& [key, value] : node["labels"].members()) out.push_back(key + "=" + value.any());
  return out.empty() ? std::string(kAbsent) : joined(out, ", ");
}

std::string pressures_of(const View& psi, const std::string& what) {
  return percent(psi[what + "_some_ratio"]) + " some, " + percent(psi[what + "_full_ratio"]) + " full";
}

std::vector<std::pair<std::string, Cell>> facts_of(const View& node) {
  const std::string source = node["energy_source"].text_or("");
  const View curve = node["curve"];
  const std::string cost = cost_text(node);
  const auto mean_of = [&](const char* key, int digits) { return number(node[key], digits); };
  return {{"node", node["name"].text_or()},
          {"state", state_cell(node)},
          {"last sample", age(node["age_ms"])},
          {"agent", node["agent_version"].text_or() + ", incarnation " + count(node["incarnation"])},
          {"features", features_of(node)},
          {"labels", labels_of(node)},
          {"cpu", mean_of("cpu_used_cores", 2) + " of " + mean_of("cpu_cores", 0) + " cores, " +
                      mean_of("cpu_requested_cores", 2) + " requested"},
          {"memory", bytes(node["memory_used_bytes"]) + " of " + bytes(node["memory_total_bytes"]) + ", " +
                         bytes(node["memory_requested_bytes"]) + " requested"},
          {"pressure cpu", pressures_of(node["psi"], "cpu")},
          {"pressure memory", pressures_of(node["psi"], "memory")},
          {"pressure io", pressures_of(node["psi"], "io")},
          {"power", watts(node["power_w"], source) + ", idle " + watts(node["idle_w"], source) + ", active " +
                        watts(active_w(node), source) + ", unattributed " + watts(node["unattributed_w"], source)},
          {"energy", joules(node["energy_j"]) + " since first seen" + (cost.empty() ? "" : ": " + cost)},
          {"power curve", curve.present() ? number(curve["idle_w"], 1) + " to " + watts(curve["max_w"]) + ", " +
                                                curve["source"].text_or() + ", " + count(curve["samples"]) + " samples"
                                          : std::string(kAbsent)},
          {"network", bytes_per_s(node["net_rx_bytes_per_s"]) + " in, " + bytes_per_s(node["net_tx_bytes_per_s"]) +
                          " out, " + count(node["tcp_established"]) + " TCP connections"},
          {"disk", percent(node["disk_used_ratio"]) + " used, " + bytes_per_s(node["disk_read_bytes_per_s"]) +
                       " read, " + bytes_per_s(node["disk_write_bytes_per_s"]) + " written"},
          {"pods", count(node["pods"]) + " of " + count(node["pod_capacity"]) + ", " + count(node["in_flight"]) +
                       " in flight; " + count(node["starts"]) + " of " + count(node["start_cap"]) + " recent starts"}};
}

std::string latency_text(const View& node, bool colour) {
  Table table{{"LATENCY TO", ">P50", ">P95", ">JITTER", ">LOSS", ">SENT"}, {}};
  for (const View& target : node["latency"].items()) {
    const auto loss_ratio = target["loss_ratio"].number();
    table.rows.push_back({target["target"].text_or(),
                          milliseconds(target["p50_ms"]),
                          milliseconds(target["p95_ms"]),
                          milliseconds(target["jitter_ms"]),
                          {percent(loss_ratio), loss_ratio && *loss_ratio > 0 ? Tone::warning : Tone::plain},
                          count(target["sent"])});
  }
  return table.rows.empty() ? "" : "\n" + to_text(table, colour);
}

std::string domains_text(const View& node, bool colour) {
  Table table{{"ENERGY DOMAIN", "POWER", "GAP"}, {}};
  for (const View& domain : node["domains"].items())
    table.rows.push_back({domain["name"].text_or(), watts(domain["power_w"], node["energy_source"].text_or("")),
                          domain["gap"].flag().value_or(false) ? Cell("yes", Tone::warning) : Cell("no")});
  return table.rows.empty() ? "" : "\n" + to_text(table, colour);
}
}  // namespace

Result<std::string> render_node(const Json& document, const Style& style) {
  WATTLE_TRY(const View node, View(document).object("node"));
  std::string out = pairs_text(facts_of(node), style.colour);
  out += latency_text(node, style.colour);
  out += domains_text(node, style.colour);
  FindingsText found({.wide = true, .colour = style.colour});
  found.add("findings", node["findings"].items());
  out += found.text();
  if (const auto workloads = node["workloads"].items(); !workloads.empty())
    out += "\n" + to_text(pods_table(workloads, style.wide), style.colour);
  return out;
}

void declare_node(CLI::App& command, Run& chosen) {
  struct Options {
    std::string node;
  };
  auto& options = runs<Options>(command, chosen, [](const Invocation& invocation, const Options& given) {
    return show(invocation, "node", {{"name", given.node}}, render_node);
  });
  command.add_option("NODE", options.node, "Node name, as listed by wattle nodes")->required();
}

}  // namespace wattle::cli
