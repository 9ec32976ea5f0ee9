// `wattle doctor --pre`: finds problems before an installation.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

#include "cli/parts.hpp"
#include "cli/pre/expiry.hpp"
#include "cli/pre/live.hpp"
#include "cli/pre/scheduler_config.hpp"
#include "cli/pre/values.hpp"
#include "cli/show.hpp"
#include "cli/table.hpp"
#include "cli/view.hpp"
#include "common/json/value.hpp"
#include "common/yaml_tree.hpp"

namespace wattle::cli {

namespace {
constexpr std::array<const char*, 3> kStates{"ok", "warn", "failed"};

// Looks beside this program, then on the PATH.
std::string agent_program() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto beside = self.parent_path() / "wattle-agent";
  return !error && std::filesystem::exists(beside, error) ? beside.string() : "wattle-agent";
}

// Merges PART.resources of the values over `resources`, as Helm does.
void lay_over(Json& resources, const Json& values, const char* part) {
  for (const char* side : {"requests", "limits"})
    for (const auto& [name, amount] : View(values)[part]["resources"][side].members())
      resources[side][name] = amount.any();
}

Result<std::vector<Finding>> examine(const Invocation& invocation) {
  const Arguments& said = invocation.arguments;
  Findings all("");
  Installation installation;
  installation.control = said.name_space;
  installation.agents = said.agents_namespace;
  if (!said.values_file.empty()) {
    WATTLE_TRY(const auto documents, load_yaml(said.values_file));
    for (const Json& values : documents) {
      const View names = View(values)["namespaces"];
      all.take(judge_values(values, said.values_file));
      installation.control = names["control"].text_or(installation.control);
      installation.agents = names["agents"].text_or(installation.agents);
      installation.scheduler_tag = View(values)["scheduler"]["tag"].text_or("");
      const View volume = View(values)["controller"]["persistence"];
      installation.storage_class = volume["storageClass"].text_or("");
      installation.own_claim = volume["existingClaim"].text_or("").empty();
      installation.quotas = View(values)["resourceQuotas"]["enabled"].flag() != false;
      installation.agents_priority = View(values)["agent"]["priorityClassName"].text_or(installation.agents_priority);
      installation.control_priority =
          View(values)["controller"]["priorityClassName"].text_or(installation.control_priority);
      lay_over(installation.agents_resources, values, "agent");
      lay_over(installation.control_resources, values, "controller");
    }
  }
  for (const std::string& file : said.scheduler_files) {
    WATTLE_TRY(const auto documents, load_yaml(file));
    std::vector<std::string> beside = said.scheduler_files;
    std::erase(beside, file);
    all.take(judge_scheduler(documents, file, beside));
    all.take(judge_extender_certificates(documents, file, SystemClock().wall()));
  }
  if (!said.kubeconfig.empty() || !said.context.empty()) {
    WATTLE_TRY(Cluster cluster, Cluster::open_(invocation));
    WATTLE_TRY(auto found, examine_cluster(cluster, installation));
    all.take(std::move(found));
  }
  const bool nothing_named =
      said.values_file.empty() && said.scheduler_files.empty() && said.kubeconfig.empty() && said.context.empty();
  if (said.this_node || nothing_named) {
    WATTLE_TRY(auto found, examine_this_node(agent_program()));
    all.take(std::move(found));
  }
  return std::move(all).all();
}
}  // namespace

Json findings_document(const std::vector<Finding>& findings) {
  Json list = Json::array();
  bool ok = true;
  for (const Finding& finding : findings) {
    ok = ok && finding.state != State::failed;
    list.push_back({{"where", finding.where},
                    {"name", finding.name},
                    {"state", kStates[static_cast<std::size_t>(finding.state)]},
                    {"detail", finding.detail},
                    {"mend", finding.mend}});
  }
  return {{"ok", ok}, {"findings", std::move(list)}};
}

Result<std::string> render_pre(const Json& document, const Style& style) {
  WATTLE_TRY(const auto findings, View(document).list("findings"));
  std::vector<std::pair<std::string, std::vector<View>>> by_place;
  std::size_t warned = 0, failed = 0;
  for (const View& finding : findings) {
    const std::string state = finding["state"].text_or();
    failed += state == "failed" ? 1U : 0U;
    warned += state == "warn" ? 1U : 0U;
    const std::string where = finding["where"].text_or();
    if (by_place.empty() || by_place.back().first != where) by_place.push_back({where, {}});
    by_place.back().second.push_back(finding);
  }
  FindingsText found(style);
  for (const auto& [where, theirs] : by_place) found.add(where, theirs);
  std::string out = std::to_string(findings.size()) + " checks: " +
                    (failed > 0 ? toned(std::to_string(failed) + " failed", Tone::bad, style.colour)
                                : toned("none failed", Tone::good, style.colour)) +
                    (warned > 0 ? ", " + std::to_string(warned) + " with warnings" : "") + "\n";
  return out + found.text();
}

int run_pre(const Invocation& invocation) {
  const auto found = examine(invocation);
  if (!found) return complain(invocation, found.error(), kUsage);
  const Json document = findings_document(*found);
  const auto printed = print(invocation, document, render_pre);
  if (!printed) return complain(invocation, printed.error(), kProblem);
  return document["ok"].get<bool>() ? kOk : kProblem;
}

void declare_doctor(CLI::App& command, Arguments& arguments) {
  auto* pre = command.add_flag(
      "--pre", arguments.before,
      "Check before an installation: the files and the cluster of the next four options, or this machine");
  command.add_option("--scheduler", arguments.scheduler_files, "Configuration or manifest of a kube-scheduler")
      ->type_name("FILE")
      ->needs(pre);
  command.add_option("--values", arguments.values_file, "Values for the Helm chart")->type_name("FILE")->needs(pre);
  command.add_flag("--node", arguments.this_node, "Also check this machine with wattle-agent doctor")->needs(pre);
  command
      .add_option("--kubeconfig", arguments.kubeconfig,
                  "Cluster to check; without --pre: report nodes of the cluster without an agent")
      ->type_name("FILE");
  command.add_option("--context", arguments.context, "Context of the kubeconfig (default: its current context)");
  command.add_option("--namespace", arguments.name_space, "Namespace of the controller (default wattle)")->needs(pre);
  command
      .add_option("--agents-namespace", arguments.agents_namespace, "Namespace of the agents (default wattle-agent)")
      ->needs(pre);
}

}  // namespace wattle::cli
