// `wattle doctor --pre`: finds problems before an installation.
#include <algorithm>

#include "cli/parts.hpp"
#include "cli/pre/expiry.hpp"
#include "cli/pre/live.hpp"
#include "cli/pre/pre.hpp"
#include "cli/pre/scheduler_config.hpp"
#include "cli/pre/values.hpp"
#include "cli/process.hpp"
#include "cli/show.hpp"
#include "cli/table.hpp"
#include "cli/view.hpp"
#include "common/yaml_tree.hpp"

namespace wattle::cli {

namespace {
constexpr std::array<const char*, 3> kStates{"ok", "warn", "failed"};

// Merges PART.resources of the values over `resources`, as Helm does.
void lay_over(Json& resources, const Json& values, const char* part) {
  for (const char* side : {"requests", "limits"})
    for (const auto& [name, amount] : View(values)[part]["resources"][side].members())
      resources[side][name] = amount.any();
}

Result<std::vector<Finding>> examine(const Invocation& invocation, const PreOptions& said) {
  Findings all("");
  Installation installation;
  installation.control = said.control;
  installation.agents = said.agents;
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
  if (invocation.common.cluster.given()) {
    WATTLE_TRY(Cluster cluster, Cluster::open_(invocation));
    WATTLE_TRY(auto found, examine_cluster(cluster, installation));
    all.take(std::move(found));
  }
  const bool nothing_named =
      said.values_file.empty() && said.scheduler_files.empty() && !invocation.common.cluster.given();
  if (said.this_node || nothing_named) {
    WATTLE_TRY(auto found, examine_this_node(program_of_ours("wattle-agent")));
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
                    {"fix", finding.fix}});
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

Outcome run_pre(const Invocation& invocation, const PreOptions& options) {
  WATTLE_TRY(const auto found, as_misuse(examine(invocation, options)));
  const Json document = findings_document(found);
  WATTLE_CHECK(print(invocation, document, render_pre));
  return document["ok"].get<bool>() ? kOk : kProblem;
}

}  // namespace wattle::cli
