// `wattle node NAME`: one node with its findings, energy domains and workloads.
#include <CLI/CLI.hpp>

#include "cli/human.hpp"
#include "cli/parts.hpp"
#include "cli/show.hpp"
#include "common/json/value.hpp"

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
  return percent(psi[what + "_some_ratio"].number()) + " some, " + percent(psi[what + "_full_ratio"].number()) +
         " full";
}

std::vector<std::pair<std::string, Cell>> facts_of(const View& node) {
  const std::string source = node["energy_source"].text_or("");
  const View curve = node["curve"];
  const auto mean_of = [&](const char* key, int digits) { return number(node[key].number(), digits); };
  return {{"node", node["name"].text_or()},
          {"state", state_cell(node)},
          {"last sample", age(node["age_ms"].number())},
          {"agent", node["agent_version"].text_or() + ", incarnation " + count(node["incarnation"])},
          {"features", features_of(node)},
          {"labels", labels_of(node)},
          {"cpu", mean_of("cpu_used_cores", 2) + " of " + mean_of("cpu_cores", 0) + " cores, " +
                      mean_of("cpu_requested_cores", 2) + " requested"},
          {"memory", bytes(node["memory_used_bytes"].number()) + " of " + bytes(node["memory_total_bytes"].number()) +
                         ", " + bytes(node["memory_requested_bytes"].number()) + " requested"},
          {"pressure cpu", pressures_of(node["psi"], "cpu")},
          {"pressure memory", pressures_of(node["psi"], "memory")},
          {"pressure io", pressures_of(node["psi"], "io")},
          {"power", watts(node["power_w"].number(), source) + ", idle " + watts(node["idle_w"].number(), source) +
                        ", unattributed " + watts(node["unattributed_w"].number(), source)},
          {"energy", joules(node["energy_j"].number()) + " since first seen"},
          {"power curve", curve.present()
                              ? number(curve["idle_w"].number(), 1) + " to " + watts(curve["max_w"].number()) + ", " +
                                    curve["source"].text_or() + ", " + count(curve["samples"]) + " samples"
                              : std::string(kAbsent)},
          {"network", bytes_per_s(node["net_rx_bytes_per_s"].number()) + " in, " +
                          bytes_per_s(node["net_tx_bytes_per_s"].number()) + " out, " + count(node["tcp_established"]) +
                          " TCP connections"},
          {"disk", percent(node["disk_used_ratio"].number()) + " used, " +
                       bytes_per_s(node["disk_read_bytes_per_s"].number()) + " read, " +
                       bytes_per_s(node["disk_write_bytes_per_s"].number()) + " written"},
          {"pods", count(node["pods"]) + " of " + count(node["pod_capacity"]) + ", " + count(node["in_flight"]) +
                       " in flight; " + count(node["starts"]) + " of " + count(node["start_cap"]) + " recent starts"}};
}

std::string latency_text(const View& node, bool colour) {
  Table table{{{"LATENCY TO"},
               {"P50", Align::right},
               {"P95", Align::right},
               {"JITTER", Align::right},
               {"LOSS", Align::right},
               {"SENT", Align::right}},
              {}};
  for (const View& target : node["latency"].items()) {
    const auto loss_ratio = target["loss_ratio"].number();
    table.rows.push_back({target["target"].text_or(),
                          milliseconds(target["p50_ms"].number()),
                          milliseconds(target["p95_ms"].number()),
                          milliseconds(target["jitter_ms"].number()),
                          {percent(loss_ratio), loss_ratio && *loss_ratio > 0 ? Tone::warning : Tone::plain},
                          count(target["sent"])});
  }
  return table.rows.empty() ? "" : "\n" + to_text(table, colour);
}

std::string domains_text(const View& node, bool colour) {
  Table table{{{"ENERGY DOMAIN"}, {"POWER"}, {"GAP"}}, {}};
  for (const View& domain : node["domains"].items())
    table.rows.push_back({domain["name"].text_or(),
                          watts(domain["power_w"].number(), node["energy_source"].text_or("")),
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
  const Sources sources{{node["name"].text_or(), node["energy_source"].text_or("")}};
  if (const auto workloads = node["workloads"].items(); !workloads.empty())
    out += "\n" + to_text(pods_table(workloads, sources, style.wide), style.colour);
  return out;
}

void declare_node(CLI::App& command, Arguments& arguments) {
  command.add_option("NAME", arguments.node, "Node name, as listed by wattle nodes")->required();
}

int run_node(const Invocation& invocation) {
  return show(invocation, "node", {{"name", invocation.arguments.node}}, render_node);
}

}  // namespace wattle::cli
