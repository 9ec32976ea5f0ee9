// `wattle provision list|suggest|why WORKLOAD|replicas|margins`: reports workloads' requests and needs, and the
// resources that other requests would free. provision_set.cpp sets requests, provision_mode.cpp their mode.
#include <array>

#include "cli/declare.hpp"
#include "cli/human.hpp"
#include "cli/parts.hpp"
#include "cli/provision_mode.hpp"
#include "cli/provision_set.hpp"
#include "cli/requests/setter.hpp"
#include "cli/show.hpp"
#include "cli/table.hpp"
#include "cli/view.hpp"
#include "common/printable.hpp"

namespace wattle::cli {

namespace {

// Renders freed memory; "-1.5 GiB" if the change would need more.
std::string signed_bytes(std::optional<double> value) {
  if (value && *value < 0) return "-" + bytes(-*value);
  return bytes(value);
}

Tone tone_of(const std::string& state) {
  if (state == "lower") return Tone::good;
  if (state == "learning") return Tone::faint;
  return state == "raise" || state == "change" ? Tone::warning : Tone::plain;
}

std::string freed_text(const View& freed) {
  const std::string cost = printable(cost_text(freed, "_per_day"));
  std::string text = number(freed["cpu_cores"], 2) + " cores, " + signed_bytes(freed["memory_bytes"].number());
  if (const auto power_w = freed["power_w"].number())
    text += ", " + watts(power_w) + " (" + joules(freed["energy_j_per_day"]) + (cost.empty() ? "" : ", " + cost) +
            " per day) if nodes that become empty are powered down";
  return text;
}

std::string totals_text(const View& totals) {
  return count(totals["workloads"]) + " workloads with " + count(totals["pods"]) + " pods request " +
         number(totals["requested"]["cpu_cores"], 2) + " cores and " + bytes(totals["requested"]["memory_bytes"]) +
         ", and use " + number(totals["used"]["cpu_cores"], 2) + " cores and " + bytes(totals["used"]["memory_bytes"]) +
         ".\n" + count(totals["suggested"]) + " have suggested changes, which would free " +
         freed_text(totals["freed"]) + ".\n";
}

std::string why_text(const std::vector<View>& rows) {
  std::string text;
  for (const View& row : rows) {
    text += row["workload"].text_or() + ", " + count(row["pods"]) + " pods:\n";
    for (const View& line : row["why"].items()) text += wrapped(line.text_or(), 2);
    for (const View& line : row["recorded"].items()) text += wrapped(line.text_or(), 2);
    text += wrapped("Would free " + freed_text(row["freed"]) + ".", 2);
  }
  return text.empty() ? std::string("no workloads\n") : printable_lines(text);
}

}  // namespace

Result<std::string> render_provision(const Json& document, const Style& style) {
  const View view(document);
  WATTLE_TRY(const std::vector<View> rows, view.list("workloads"));
  if (!view["more"].present()) return why_text(rows);  // one workload was named
  if (view["followed"].flag() == false && rows.empty())
    return std::string(
        "requests of pods are unknown because the controller follows no API server (kubernetes.watch)\n");
  Table table{{"WORKLOAD", ">PODS", ">REQUEST", ">NEEDS", ">WOULD BE", ">MEMORY", ">NEEDS", ">WOULD BE", ">FREES",
               ">MEMORY", ">POWER", "STATE"},
              {}};
  for (const View& row : rows) {
    const auto cores = [&](const char* what) { return number(row[what]["cpu_cores"], 3); };
    const auto memory = [&](const char* what) { return bytes(row[what]["memory_bytes"]); };
    const std::string state = row["state"].text_or();
    table.rows.push_back({row["workload"].text_or(), count(row["pods"]), cores("request"), cores("needed"),
                          cores("suggested"), memory("request"), memory("needed"), memory("suggested"),
                          number(row["freed"]["cpu_cores"], 2), signed_bytes(row["freed"]["memory_bytes"].number()),
                          watts(row["freed"]["power_w"]), Cell{state, tone_of(state)}});
  }
  std::string text = to_text(table, style.colour) + "\n" + totals_text(view["totals"]);
  if (view["more"].number().value_or(0) > 0) text += count(view["more"]) + " more (show them with --limit)\n";
  return text;
}

namespace {
struct RowsOptions {
  int limit = 20;
};

void declare_rows(CLI::App& command, Run& chosen, Outcome (*run)(const Invocation&, const RowsOptions&)) {
  auto& options = runs(command, chosen, run);
  command.add_option("--limit", options.limit, "Number of rows, 1 to 1000; the most important come first")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
}

void declare_provision_list(CLI::App& command, Run& chosen) {
  declare_rows(command, chosen, [](const Invocation& invocation, const RowsOptions& options) {
    return show(invocation, "provision", {{"limit", std::to_string(options.limit)}}, render_provision);
  });
}

void declare_suggest(CLI::App& command, Run& chosen) {
  declare_rows(command, chosen, [](const Invocation& invocation, const RowsOptions& options) {
    return show(invocation, "provision", {{"limit", std::to_string(options.limit)}, {"only", "suggested"}},
                render_provision);
  });
}

void declare_replicas(CLI::App& command, Run& chosen) {
  declare_rows(command, chosen, [](const Invocation& invocation, const RowsOptions& options) {
    return show(invocation, "provision", {{"limit", std::to_string(options.limit)}, {"only", "replicas"}},
                render_replicas);
  });
}

void declare_margins(CLI::App& command, Run& chosen) {
  declare_rows(command, chosen, [](const Invocation& invocation, const RowsOptions& options) {
    return show(invocation, "margins", {{"limit", std::to_string(options.limit)}}, render_margins);
  });
}

struct WhyOptions {
  std::string workload;
};

// With a kubeconfig, includes the records in the cluster about the workload.
Outcome explain_workload(const Invocation& invocation, const WhyOptions& options) {
  if (!invocation.common.cluster.given())
    return show(invocation, "provision", {{"workload", options.workload}}, render_provision);
  return with_controller(invocation, [&](Controller& controller) -> Result<int> {
    WATTLE_TRY(Json document, controller.ask("provision", {{"workload", options.workload}}));
    WATTLE_TRY(Cluster cluster, Cluster::open_(invocation));
    for (Json& row : document["workloads"]) {
      WATTLE_TRY(const auto words,
                 recorded_words(cluster, View(row)["namespace"].text_or(""), View(row)["workload"].text_or("")));
      row["recorded"] = words;
    }
    WATTLE_CHECK(print(invocation, document, render_provision));
    return kOk;
  });
}

void declare_why(CLI::App& command, Run& chosen) {
  auto& options = runs(command, chosen, explain_workload);
  command.add_option("WORKLOAD", options.workload, "Workload as NAMESPACE/KIND/NAME or a unique suffix of it")
      ->required();
}

constexpr std::array kProvisionCommands{
    Command{"list", "Show the current, needed and suggested requests of every workload", declare_provision_list},
    Command{"suggest", "Show workloads with suggested changes and the resources that these would free; changes nothing",
            declare_suggest},
    Command{"why", "Explain the need of a workload, missing data and obstacles", declare_why},
    Command{"replicas",
            "Show the replicas needed for the expected request rate and who sets their number; changes nothing",
            declare_replicas},
    Command{"margins", "Show the teacher's margins for CPU limits set by nodes, next to the nodes' own rule",
            declare_margins},
    Command{"mode", "Show how smaller requests are applied and what was measured since, or change the mode",
            declare_provision_mode},
    Command{"set", "Set requests of running pods to the suggested values and record the previous ones",
            declare_provision_set},
    Command{"restore", "Restore the requests that pods had before `set`", declare_provision_restore}};
}  // namespace

void declare_provision(CLI::App& command, Run& chosen) { add_commands(command, kProvisionCommands, chosen); }

}  // namespace wattle::cli
