// `wattle pod NAME`: shows one pod and each container's part of its power.

#include "cli/declare.hpp"
#include "cli/human.hpp"
#include "cli/parts.hpp"
#include "cli/show.hpp"

namespace wattle::cli {

namespace {
std::vector<std::pair<std::string, Cell>> facts_of(const View& pod, const std::string& source) {
  const View psi = pod["psi"];
  const std::string cost = cost_text(pod);
  return {{"pod", pod_label(pod["name"], pod["namespace"], pod["uid"])},
          {"uid", pod["uid"].text_or()},
          {"node", pod["node"].text_or()},
          {"age", age_s(pod["age_s"])},
          {"cpu", number(pod["cpu_cores"], 3) + " cores"},
          {"memory", bytes(pod["memory_bytes"])},
          {"pressure", percent(psi["cpu_some_ratio"]) + " CPU, " + percent(psi["memory_some_ratio"]) + " memory, " +
                           percent(psi["io_some_ratio"]) + " io"},
          {"power", watts(pod["power_w"], source)},
          {"energy", joules(pod["energy_j"]) + (source == "estimated" ? " est" : "") + " since first seen" +
                         (cost.empty() ? "" : ": " + cost)},
          {"decision", count(pod["decision_id"])}};
}

// Returns a container's name, or else the runtime's id.
std::string container_label(const View& container) {
  const auto name = container["name"].text();
  return name ? *name : container["id"].text_or();
}
}  // namespace

Result<std::string> render_pod(const Json& document, const Style& style) {
  WATTLE_TRY(const View pod, View(document).object("pod"));
  const std::string source = pod["energy_source"].text_or("");
  std::string out = pairs_text(facts_of(pod, source), style.colour);
  Table table{{"CONTAINER", ">CPU", "POWER", ">ENERGY", ">SHARE"}, {}};
  if (style.wide) table.columns.push_back({"ID"});
  const bool priced = !cost_text(pod).empty();
  if (priced) table.columns.insert(table.columns.begin() + 4, {">COST, CO2"});
  const auto all_j = pod["energy_j"].number();
  const auto add = [&](const std::string& label, const View& part, Tone tone) {
    const auto energy_j = part["energy_j"].number();
    const bool shared = energy_j && all_j && *all_j > 0;
    std::vector<Cell> row{{label, tone},
                          number(part["cpu_cores"], 3),
                          watts(part["power_w"], source),
                          joules(energy_j),
                          percent(shared ? std::optional(*energy_j / *all_j) : std::nullopt)};
    if (priced) row.insert(row.begin() + 4, cost_cell(part));
    if (style.wide) row.emplace_back(part["id"].text_or());
    table.rows.push_back(std::move(row));
  };
  const auto containers = pod["containers"].items();
  if (containers.empty()) return out + "\nno containers known yet\n";
  for (const View& container : containers) add(container_label(container), container, Tone::plain);
  add("(rest)", pod["rest"], Tone::faint);
  return out + "\n" + to_text(table, style.colour);
}

void declare_pod(CLI::App& command, Run& chosen) {
  struct Options {
    std::string pod;
  };
  auto& options = runs<Options>(command, chosen, [](const Invocation& invocation, const Options& given) {
    return show(invocation, "pod", {{"pod", given.pod}}, render_pod);
  });
  command.add_option("POD", options.pod, "Pod name, NAMESPACE/NAME or UID, as listed by wattle pods")->required();
}

}  // namespace wattle::cli
