// `wattle savings [--patch WORKLOAD]`: lists the savings that are available on the cluster, and prints a patch for a
// workload's template.
#include <ostream>

#include "cli/cluster.hpp"
#include "cli/controller.hpp"
#include "cli/declare.hpp"
#include "cli/human.hpp"
#include "cli/parts.hpp"
#include "cli/requests/owner_patch.hpp"
#include "cli/requests/setter.hpp"
#include "cli/show.hpp"
#include "cli/table.hpp"
#include "cli/view.hpp"
#include "cli/yaml.hpp"
#include "common/kube/autoscalers.hpp"
#include "common/printable.hpp"

namespace wattle::cli {

namespace {

// The text of a document, without control sequences.
std::string safe_text(const View& value) { return printable(value.text_or()); }

std::string per_day(const View& object) {
  const std::string cost = printable(cost_text(object, "_per_day"));
  return joules(object["energy_j_per_day"]) + (cost.empty() ? "" : ", " + cost);
}

// "[12.0, 34.5] W"; empty: there is none.
std::string interval_of(const View& lever) {
  const auto low = lever["saved_low_w"].number(), high = lever["saved_high_w"].number();
  return low && high ? "[" + number(low, 1) + ", " + number(high, 1) + "] W" : std::string();
}

std::string items_text(const View& lever, bool colour) {
  Table table{{"", "", ">SAVES", ">FREES"}, {}};
  for (const View& item : lever["items"].items())
    table.rows.push_back(
        {"  " + item["name"].text_or(), item["text"].text_or(),
         item["saved_w"].present() ? watts(item["saved_w"]) : std::string(),
         item["nodes"].present() ? "frees " + count(item["nodes"]) + " with those above" : std::string()});
  if (table.rows.empty()) return {};
  std::string text = to_text(table, colour);
  text.erase(0, text.find('\n') + 1);  // the empty titles
  return text;
}

std::string details_text(const View& lever, bool colour) {
  std::string text = "\n" + wrapped(safe_text(lever["lever"]) + ": " + safe_text(lever["text"]), 0);
  if (const std::string interval = interval_of(lever); lever["saved_w"].present())
    text += wrapped("95% interval: " + (interval.empty() ? "none: " + safe_text(lever["no_interval"]) : interval), 2);
  if (lever["measured"].present()) text += wrapped("Measured: " + safe_text(lever["measured"]), 2);
  if (lever["command"].present())
    text += wrapped(
        (lever["in_force"].flag() == true ? "In force; next: " : "Apply with: ") + safe_text(lever["command"]), 2);
  text += items_text(lever, colour);
  if (lever["more"].number().value_or(0) > 0) text += "  " + count(lever["more"]) + " more (show them with --limit)\n";
  for (const View& kept : lever["kept"].items()) {
    std::string names;
    for (const View& name : kept["first"].items()) names += (names.empty() ? "" : ", ") + safe_text(name);
    const auto nodes = kept["nodes"].number().value_or(0);
    if (nodes > static_cast<double>(kept["first"].items().size())) names += ", ...";
    text += wrapped("Not " + count(kept["nodes"]) + (nodes == 1 ? " node: " : " nodes: ") + safe_text(kept["why"]) +
                        " (" + names + ")",
                    2);
  }
  return text;
}

}  // namespace

std::string savings_table(const View& savings, bool colour) {
  Table table{{"LEVER", ">SAVES", ">95% INTERVAL", ">PER DAY", ">NODES", "STATE"}, {}};
  for (const View& lever : savings["levers"].items()) {
    const bool known = lever["saved_w"].present();
    const std::string state = lever["in_force"].flag() == true  ? "in force"
                              : !known                          ? "unknown"
                              : lever["saved_w"].number() > 0.0 ? "available"
                                                                : "nothing to gain";
    const std::string interval = interval_of(lever);
    table.rows.push_back({lever["lever"].text_or(), watts(lever["saved_w"]),
                          interval.empty() ? std::string(kAbsent) : interval, known ? per_day(lever) : kAbsent.data(),
                          count(lever["nodes"]), Cell{state, known ? Tone::plain : Tone::faint}});
  }
  const View sum = savings["sum"];
  std::string text = to_text(table, colour);
  const auto saved_w = sum["saved_w"].number(), power_w = savings["power_w"].number();
  if (const double in_force_w = sum["in_force_w"].number().value_or(0); in_force_w > 0)
    text += "in force: " + watts(in_force_w) +
            (power_w ? " (" + percent(in_force_w / (*power_w + in_force_w)) + " of the power without it)" : "") +
            ", modelled\n";
  text += "available in all: " + watts(saved_w);
  if (saved_w && power_w && *power_w > 0) text += " of " + watts(power_w) + " (" + percent(*saved_w / *power_w) + ")";
  text += ", " + per_day(sum) + " per day, modelled";
  if (const double overlap_w = sum["overlap_w"].number().value_or(0); overlap_w > 0)
    text += "; levers have " + watts(overlap_w) + " in common, which count once";
  return text + "\n";
}

Result<std::string> render_savings(const Json& document, const Style& style) {
  const View savings(document);
  WATTLE_TRY(const std::vector<View> levers, savings.list("levers"));
  std::string text = savings_table(savings, style.colour);
  for (const View& lever : levers) text += details_text(lever, style.colour);
  return text + "\n" + wrapped(safe_text(savings["assumes"]), 0);
}

namespace {

struct SavingsOptions {
  int limit = 10;
  std::string patch;
};

// The level that all pods of a workload have, if it excludes other requests.
std::string level_of(const View& row) {
  for (const char* level : {"limits", "off"})
    if (const double pods = row["pods"].number().value_or(0); pods > 0 && row["levels"][level].number() >= pods)
      return level;
  return {};
}

OwnerAdvice advice_of(const View& row) {
  OwnerAdvice advice;
  advice.workload = row["workload"].text_or("");
  // A template cannot change every hour, as the rule does.
  advice.cpu_cores = row["lasting"]["cpu_cores"].number();
  advice.memory_bytes = row["lasting"]["memory_bytes"].number();
  advice.observed_s = row["heard_s"].number().value_or(0);
  advice.level = level_of(row);
  const View replicas = row["replicas"];
  if (replicas["state"].text() == "fewer" && replicas["suggested"].present())
    advice.replicas = static_cast<std::size_t>(replicas["suggested"].number().value_or(1));
  return advice;
}

Result<Json> find_owner(Cluster& cluster, const std::string& workload) {
  const auto kind_at = workload.find('/'), name_at = workload.find('/', kind_at + 1);
  const std::string name_space = workload.substr(0, kind_at), name = workload.substr(name_at + 1);
  const std::string kind = workload.substr(kind_at + 1, name_at - kind_at - 1);
  for (const std::string& each : kind == "Job" ? std::vector<std::string>{"Job", "CronJob"} : std::vector{kind}) {
    const std::string path = owner_path(name_space, each, name);
    if (path.empty())
      return fail(Errc::malformed, workload, "kind " + kind + " has no pod template that Wattle knows",
                  "name a Deployment, StatefulSet, DaemonSet, ReplicaSet, Job or CronJob");
    WATTLE_TRY(auto found, cluster.find(path));
    if (found) return *std::move(found);
  }
  return fail(Errc::not_found, workload, "the API server has no such object", "list it with kubectl get");
}

// Prints the patch as YAML with the notes as comments, or as JSON with the notes on standard error.
void print_patch(const Invocation& invocation, const OwnerPatch& made) {
  const bool json = invocation.common.output == Output::json;
  std::ostream& notes = json ? invocation.around.err : invocation.around.out;
  for (const std::string& note : made.notes) notes << (json ? "" : "# ") << printable(note) << "\n";
  invocation.around.out << (json ? made.patch.dump(2, JsonText::ascii) + "\n" : to_yaml(made.patch)) << std::flush;
}

Outcome patch_owner(const Invocation& invocation, const std::string& workload) {
  return with_controller(invocation, [&](Controller& controller) -> Result<int> {
    WATTLE_TRY(const Json document, controller.ask("provision", {{"workload", workload}}));
    WATTLE_TRY(const std::vector<View> rows, View(document).list("workloads"));
    if (rows.size() != 1) return fail(Errc::malformed, workload, "the controller's answer names no single workload");
    OwnerAdvice advice = advice_of(rows.front());
    const std::string name_space = rows.front()["namespace"].text_or("");
    WATTLE_TRY(Cluster cluster, Cluster::open_(invocation));
    WATTLE_TRY(const Json owner, find_owner(cluster, advice.workload));
    WATTLE_TRY(const Json vpas, vertical_autoscalers(cluster, name_space));
    WATTLE_TRY(const auto scalers, kube::list_autoscalers(cluster.api(), name_space, kGrantAutoscalers));
    advice.autoscaler = autoscaler_of(vpas, rows.front()["owner"].text_or(""));
    advice.scaler = scalers.by_utilisation.of(advice.workload);
    if (!scalers.of(advice.workload).empty()) advice.replicas.reset();
    WATTLE_TRY(const OwnerPatch made, owner_patch(owner, advice));
    print_patch(invocation, made);
    return kOk;
  });
}

Outcome savings_or_patch(const Invocation& invocation, const SavingsOptions& options) {
  if (!options.patch.empty()) return patch_owner(invocation, options.patch);
  return show(invocation, "savings", {{"limit", std::to_string(options.limit)}}, render_savings);
}

}  // namespace

void declare_savings(CLI::App& command, Run& chosen) {
  auto& options = runs(command, chosen, savings_or_patch);
  command.add_option("--limit", options.limit, "Number of nodes or workloads of each saving, 1 to 1000")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command
      .add_option(
          "--patch", options.patch,
          "Print a patch with right-sized requests for the template of a workload, named NAMESPACE/KIND/NAME or "
          "by a unique suffix of it; changes nothing")
      ->type_name("WORKLOAD");
}

}  // namespace wattle::cli
