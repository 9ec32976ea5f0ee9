// `wattle provision list|suggest|why WORKLOAD|replicas|margins`: reports workloads' requests and needs, and the
// resources that other requests would free. provision_set.cpp sets requests.
#include <CLI/CLI.hpp>
#include <array>

#include "cli/human.hpp"
#include "cli/provision_set.hpp"
#include "cli/show.hpp"
#include "cli/table.hpp"
#include "cli/view.hpp"
#include "common/json/value.hpp"
#include "common/printable.hpp"

namespace wattle::cli {

namespace {

constexpr std::string_view kMarginsAction = "margins", kReplicasAction = "replicas";

struct ProvisionAction {
  std::string_view name, help;
};
constexpr std::array kProvisionActions{
    ProvisionAction{"list", "Show the current, needed and suggested requests of every workload"},
    ProvisionAction{"suggest",
                    "Show workloads with suggested changes and the resources that these would free; changes nothing"},
    ProvisionAction{"why", "Explain the need of a workload, missing data and obstacles"},
    ProvisionAction{
        kReplicasAction,
        "Show the replicas needed for the expected request rate and who sets their number; changes nothing"},
    ProvisionAction{kMarginsAction,
                    "Show the teacher's margins for CPU limits set by nodes, next to the nodes' own rule"},
    ProvisionAction{kSetAction, "Set requests of running pods to the suggested values and record the previous ones"},
    ProvisionAction{kRestoreAction, "Restore the requests that pods had before `set`"}};

// Renders freed memory; "-1.5 GiB" if it would take more.
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
  std::string text = number(freed["cpu_cores"].number(), 2) + " cores, " + signed_bytes(freed["memory_bytes"].number());
  if (const auto power_w = freed["power_w"].number())
    text += ", " + watts(power_w) + " (" + joules(freed["energy_j_per_day"].number()) +
            " per day) if nodes that become empty are powered down";
  return text;
}

std::string totals_text(const View& totals) {
  return count(totals["workloads"]) + " workloads with " + count(totals["pods"]) + " pods request " +
         number(totals["requested"]["cpu_cores"].number(), 2) + " cores and " +
         bytes(totals["requested"]["memory_bytes"].number()) + ", and use " +
         number(totals["used"]["cpu_cores"].number(), 2) + " cores and " +
         bytes(totals["used"]["memory_bytes"].number()) + ".\n" + count(totals["suggested"]) +
         " have suggested changes, which would free " + freed_text(totals["freed"]) + ".\n";
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
  const auto right = Align::right;
  Table table{{{"WORKLOAD"},
               {"PODS", right},
               {"REQUEST", right},
               {"NEEDS", right},
               {"WOULD BE", right},
               {"MEMORY", right},
               {"NEEDS", right},
               {"WOULD BE", right},
               {"FREES", right},
               {"MEMORY", right},
               {"POWER", right},
               {"STATE"}},
              {}};
  for (const View& row : rows) {
    const auto cores = [&](const char* what) { return number(row[what]["cpu_cores"].number(), 3); };
    const auto memory = [&](const char* what) { return bytes(row[what]["memory_bytes"].number()); };
    const std::string state = row["state"].text_or();
    table.rows.push_back({row["workload"].text_or(), count(row["pods"]), cores("request"), cores("needed"),
                          cores("suggested"), memory("request"), memory("needed"), memory("suggested"),
                          number(row["freed"]["cpu_cores"].number(), 2),
                          signed_bytes(row["freed"]["memory_bytes"].number()), watts(row["freed"]["power_w"].number()),
                          Cell{state, tone_of(state)}});
  }
  std::string text = to_text(table, style.colour) + "\n" + totals_text(view["totals"]);
  if (view["more"].number().value_or(0) > 0) text += count(view["more"]) + " more (show them with --limit)\n";
  return text;
}

void declare_provision(CLI::App& command, Arguments& arguments) {
  command.require_subcommand(1);
  for (const ProvisionAction& action : kProvisionActions) {
    auto* sub = command.add_subcommand(std::string(action.name), std::string(action.help));
    sub->fallthrough();
    sub->callback([&arguments, name = action.name] { arguments.action = name; });
    if (action.name == kSetAction || action.name == kRestoreAction) {
      declare_provision_set(*sub, action.name == kSetAction, arguments);
      continue;
    }
    if (action.name == "why") {
      declare_cluster(*sub, arguments);
      sub->add_option("WORKLOAD", arguments.name, "Workload as NAMESPACE/KIND/NAME or a unique suffix of it")
          ->required();
      continue;
    }
    sub->add_option("--limit", arguments.limit, "Number of rows, 1 to 1000; the most important come first")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
  }
}

int run_provision(const Invocation& invocation) {
  const Arguments& arguments = invocation.arguments;
  std::map<std::string, std::string> query;
  if (arguments.action == kSetAction || arguments.action == kRestoreAction) return run_provision_set(invocation);
  if (arguments.action == "why" && !arguments.kubeconfig.empty()) return run_provision_recorded(invocation);
  if (arguments.action == "why") {
    query["workload"] = arguments.name;
  } else {
    query["limit"] = std::to_string(arguments.limit);
    if (arguments.action == "suggest") query["only"] = "suggested";
    if (arguments.action == kReplicasAction) {
      query["only"] = "replicas";
      return show(invocation, "provision", query, render_replicas);
    }
    if (arguments.action == kMarginsAction) return show(invocation, "margins", query, render_margins);
  }
  return show(invocation, "provision", query, render_provision);
}

}  // namespace wattle::cli
