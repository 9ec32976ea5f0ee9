#include "cli/pre/values.hpp"

#include "cli/pre/rules.hpp"
#include "cli/view.hpp"
#include "common/parse.hpp"

namespace wattle::cli {

namespace {
constexpr double kShimDeadline_s = 0.02, kSchedulerTimeout_s = 0.05;  // defaults of the chart

void judge_scheduler_part(Findings& out, const View& scheduler, const View& shim) {
  if (scheduler["weight"].present()) judge_weight(out, "scheduler.weight", scheduler["weight"].number());
  if (scheduler["httpTimeout"].present()) judge_timeout(out, "scheduler.httpTimeout", scheduler["httpTimeout"].text());
  if (scheduler["percentageOfNodesToScore"].present())
    judge_sampling(out, "scheduler.percentageOfNodesToScore", scheduler["percentageOfNodesToScore"].number());
  if (const auto tag = scheduler["tag"].text(); tag && !tag->empty()) {
    const auto version = parse_version(*tag);
    if (!version)
      out.failed("scheduler.tag", "'" + *tag + "' is not a version",
                 "leave it empty for the cluster's own version, or set it, for example to v1.35.4");
    else if (*version < kOldestKube)
      out.failed("scheduler.tag", version->text() + " is too old", kOldestKube.text() + " or later");
    else
      out.ok("scheduler.tag", *tag);
  }
  const double deadline_s = parse::duration_s(shim["deadline"].text_or("")).value_or(kShimDeadline_s);
  const double timeout_s = parse::duration_s(scheduler["httpTimeout"].text_or("")).value_or(kSchedulerTimeout_s);
  if (deadline_s >= timeout_s)
    out.failed("shim.deadline",
               "not shorter than the scheduler's httpTimeout: the shim's fallback answer comes too late",
               "use 20ms here and 50ms for the scheduler");
  if (scheduler["name"].text() == "default-scheduler")
    out.failed("scheduler.name", "the cluster's own scheduler has this name; both would bind the same pods",
               "set it to wattle");
}

void judge_installation(Findings& out, const View& values) {
  const auto mode = values["controller"]["mode"].text();
  if (mode && mode->starts_with("canary"))
    out.warn("controller.mode", *mode + " from the first minute, before Wattle has learned anything",
             "start with shadow, then use wattle policy promote");
  if (mode == "live")
    out.warn("controller.mode", "live from the first minute, before Wattle has learned or measured anything",
             "start with shadow, then use wattle policy promote");
  const View images = values["images"];
  const std::string registry = images["registry"].text_or("");
  if (registry.find("://") != std::string::npos)
    out.failed("images.registry", "'" + registry + "' is a URL, not the prefix of an image name",
               "remove the scheme, for example registry.example/team");
  else if (registry.empty() && images["pullPolicy"].text_or("") != "Never")
    out.failed("images.registry",
               "is not set, and Wattle's images are not in a public registry: nodes would pull docker.io/"
               "library/wattle-agent",
               "set it to the registry that you pushed the images to, for example registry.example/team");
  if (const auto over = values["controller"]["config"]["mode"].text(); over && *over != mode.value_or("shadow"))
    out.failed("controller.config.mode", *over + ", but controller.mode is " + mode.value_or("shadow"),
               "set only controller.mode");
  if (values["keys"]["bootstrap"].flag() == false)
    out.warn("keys.bootstrap", "Secrets wattle-controller, wattle-shim and ConfigMaps wattle-public must exist",
             "create them with wattle keys bootstrap --kubeconfig FILE");
  if (values["networkPolicy"]["enabled"].flag() == false)
    out.warn("networkPolicy.enabled",
             "the whole cluster can reach ports 8050, 9460 and 9462; they need the token of Secret wattle-metrics",
             "enable it");
  const View names = values["namespaces"];
  const auto control = names["control"].text(), agents = names["agents"].text();
  if (control.value_or("wattle") == agents.value_or("wattle-agent"))
    out.failed("namespaces",
               "one namespace for both: Pod Security is privileged for the agents and restricted for the others",
               "use two namespaces");
  if (const auto tag = values["images"]["tag"].text(); tag == "latest")
    out.warn("images.tag", "latest: the running version is unknown and cannot be restored", "set a version");
  const View tolerations = values["agent"]["tolerations"];
  if (tolerations.present() && tolerations.items().empty())
    out.warn("agent.tolerations", "none: nodes with taints have no agent, and Wattle places no pods there",
             "keep the default");
}
}  // namespace

std::vector<Finding> judge_values(const OrderedJson& document, const std::string& where) {
  Findings out(where);
  const View values(document);
  judge_scheduler_part(out, values["scheduler"], values["shim"]);
  judge_installation(out, values);
  std::vector<Finding> all = std::move(out).all();
  if (all.empty()) all.push_back({where, "values", State::ok, "no problems found", ""});
  return all;
}

}  // namespace wattle::cli
