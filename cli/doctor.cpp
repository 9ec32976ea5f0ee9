// `wattle doctor`: lists faults of the controller and of every node, each with the fix.

#include "cli/declare.hpp"
#include "cli/fleet.hpp"
#include "cli/human.hpp"
#include "cli/parts.hpp"
#include "cli/power_states.hpp"
#include "cli/pre/live.hpp"
#include "cli/pre/pre.hpp"
#include "cli/show.hpp"
#include "common/clock.hpp"
#include "common/http/certificate.hpp"

namespace wattle::cli {

namespace {
bool has_failed(const View& owner) {
  for (const View& finding : owner["findings"].items())
    if (finding["state"].text() == "failed") return true;
  return false;
}

}  // namespace

bool doctor_is_well(const Json& document) {
  const View controller = View(document)["controller"];
  if (controller["ok"].flag() == false || has_failed(controller) || has_failed(View(document)["fleet"])) return false;
  for (const View& node : View(document)["nodes"].items())
    if ((node["connected"].flag() == false && !may_be_silent(node)) || has_failed(node)) return false;
  return true;
}

Result<std::string> render_doctor(const Json& document, const Style& style) {
  WATTLE_TRY(const View controller, View(document).object("controller"));
  WATTLE_TRY(const std::vector<View> nodes, View(document).list("nodes"));
  std::size_t connected = 0, asleep = 0;
  FindingsText found(style);
  found.add("controller", controller["findings"].items());
  found.add("fleet", View(document)["fleet"]["findings"].items());
  for (const View& node : nodes) {
    std::vector<View> findings = node["findings"].items();
    const Json silent{{"name", "connection"},
                      {"state", "failed"},
                      {"detail", "last sample " + age(node["age_ms"]) + " ago"},
                      {"fix", "check the agent on that node: systemctl status wattle-agent"}};
    if (may_be_silent(node) && (node["connected"].flag() == false || node["power"]["state"].text() == "asleep"))
      ++asleep;
    else if (node["connected"].flag() == false)
      findings.insert(findings.begin(), View(silent));
    else
      ++connected;
    found.add(node["name"].text_or(), findings);
  }
  const bool well = doctor_is_well(document);
  std::string out =
      std::string("controller ") +
      (controller["ok"].flag() == false ? toned("not ok", Tone::bad, style.colour) : "ok") + ", " +
      std::to_string(connected) + " of " + std::to_string(nodes.size()) + " nodes connected" +
      (asleep > 0 ? ", " + std::to_string(asleep) + " asleep" : std::string()) + ": " +
      (well ? toned("no problems", Tone::good, style.colour) : toned("problems found", Tone::bad, style.colour)) + "\n";
  return out + found.text();
}

namespace {
struct ClusterSeen {
  std::optional<std::vector<std::string>> nodes;  // unset: no kubeconfig, so no query was made
  std::vector<Finding> findings;
};

Result<ClusterSeen> look_at_cluster(const Invocation& invocation) {
  const ClusterOptions& given = invocation.common.cluster;
  ClusterSeen seen;
  if (!given.given()) return seen;
  WATTLE_TRY(Cluster cluster, Cluster::open_(invocation));
  WATTLE_TRY(const auto nodes, list_nodes(cluster));
  seen.nodes.emplace();
  for (const Json& node : nodes) seen.nodes->push_back(View(node)["metadata"]["name"].text_or());
  if (cluster.certificate_file().empty()) return seen;
  if (const auto end = http::certificate_file_end(cluster.certificate_file()))
    if (const auto soon = http::ends_soon(*end, SystemClock().wall()))
      seen.findings.push_back({given.kubeconfig.empty() ? "KUBECONFIG" : given.kubeconfig, "certificate", State::warn,
                               "the client's certificate " + *soon,
                               "renew the certificate, for example with kubeadm certs renew"});
  return seen;
}

// A warning that replaces the fleet's findings. Those of the controller and the nodes remain valid.
std::vector<Finding> not_judged(const Error& why) {
  return {{"fleet", "answer", State::warn, why.subject + ": " + why.what, why.fix}};
}
struct DoctorOptions : PreOptions {
  bool before = false;
};

Outcome run_doctor(const Invocation& invocation, const DoctorOptions& options) {
  if (options.before) return run_pre(invocation, options);
  return with_controller(invocation, [&](Controller& controller) -> Result<int> {
    WATTLE_TRY(Json document, controller.ask("doctor", {}));
    WATTLE_TRY(ClusterSeen seen, look_at_cluster(invocation));
    const auto nodes = controller.ask("nodes", {}), status = controller.ask("status", {});
    std::vector<Finding> fleet = nodes && status ? judge_fleet(document, *nodes, *status, seen.nodes)
                                                 : not_judged((nodes ? status : nodes).error());
    fleet.insert(fleet.end(), seen.findings.begin(), seen.findings.end());
    document["fleet"] = findings_document(fleet);
    WATTLE_CHECK(print(invocation, document, render_doctor));
    return doctor_is_well(document) ? kOk : kProblem;
  });
}
}  // namespace

void declare_doctor(CLI::App& command, Run& chosen) {
  auto& options = runs(command, chosen, run_doctor);
  command.alias("check");
  auto* pre = command.add_flag("--pre", options.before,
                               "Check before an installation: the files of the next options and the cluster of "
                               "--kubeconfig or --context, or this machine");
  command.add_option("--scheduler", options.scheduler_files, "Configuration or manifest of a kube-scheduler")
      ->type_name("FILE")
      ->needs(pre);
  command.add_option("--values", options.values_file, "Values for the Helm chart")->type_name("FILE")->needs(pre);
  command.add_flag("--node", options.this_node, "Also check this machine with wattle-agent doctor")->needs(pre);
  command.add_option("--namespace", options.control, "Namespace of the controller (default wattle)")->needs(pre);
  command.add_option("--agents-namespace", options.agents, "Namespace of the agents (default wattle-agent)")
      ->needs(pre);
}

}  // namespace wattle::cli
