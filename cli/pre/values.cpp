#include "cli/pre/values.hpp"

#include "cli/pre/rules.hpp"
#include "cli/view.hpp"
#include "common/json/value.hpp"
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
      out.failed("scheduler.tag", "'" + *tag + "' tells no version",
                 "leave it empty for the cluster's own version, or as in v1.35.4");
    else if (*version < kOldestKube)
      out.failed("scheduler.tag", version->text() + " is too old", kOldestKube.text() + " or later");
    else
      out.ok("scheduler.tag", *tag);
  }
  const double deadline_s = parse::duration_s(shim["deadline"].text_or("")).value_or(kShimDeadline_s);
  const double timeout_s = parse::duration_s(scheduler["httpTimeout"].text_or("")).value_or(kSchedulerTimeout_s);
  if (deadline_s >= timeout_s)
    out.failed("shim.deadline",
               "not shorter than the scheduler's httpTimeout: what the board or a neutral answer says comes too late",
               "20ms, and 50ms for the scheduler");
  if (scheduler["name"].text() == "default-scheduler")
    out.failed("scheduler.name", "the cluster's own scheduler has this name: both would bind the same pods",
               "name it wattle");
}

void judge_installation(Findings& out, const View& values) {
  const auto mode = values["controller"]["mode"].text();
  if (mode && mode->starts_with("canary"))
    out.warn("controller.mode", *mode + " from the first minute, with nothing learned",
             "begin with shadow; wattle policy promote");
  if (mode == "live")
    out.warn("controller.mode", "live from the first minute, with nothing learned or measured",
             "begin with shadow; wattle policy promote");
  const View images = values["images"];
  const std::string registry = images["registry"].text_or("");
  if (registry.find("://") != std::string::npos)
    out.failed("images.registry", "'" + registry + "' is an address of the web, and no part of an image's name",
               "leave out everything before the host, as in registry.example/team");
  else if (registry.empty() && images["pullPolicy"].text_or("") != "Never")
    out.failed("images.registry",
               "is not set, and Wattle's images are in no public registry: nodes would ask docker.io for"
               " library/wattle-agent",
               "name the registry that you pushed them to, as in registry.example/team");
  if (const auto over = values["controller"]["config"]["mode"].text(); over && *over != mode.value_or("shadow"))
    out.failed("controller.config.mode", *over + ", and controller.mode is " + mode.value_or("shadow"),
               "set controller.mode alone");
  if (values["keys"]["bootstrap"].flag() == false)
    out.warn("keys.bootstrap", "Secrets wattle-controller, wattle-shim and ConfigMaps wattle-public must be there",
             "wattle keys bootstrap --kubeconfig FILE makes them");
  if (values["networkPolicy"]["enabled"].flag() == false)
    out.warn(
        "networkPolicy.enabled",
        "the whole cluster reaches 8050, 9460 and 9462; without the token of Secret wattle-metrics they tell nothing",
        "leave it on");
  const View names = values["namespaces"];
  const auto control = names["control"].text(), agents = names["agents"].text();
  if (control.value_or("wattle") == agents.value_or("wattle-agent"))
    out.failed("namespaces", "one for both: Pod Security of the agents is privileged, of the others restricted",
               "take two");
  if (const auto tag = values["images"]["tag"].text(); tag == "latest")
    out.warn("images.tag", "latest: nobody can tell what runs, or go back to it", "name a version");
  const View tolerations = values["agent"]["tolerations"];
  if (tolerations.present() && tolerations.items().empty())
    out.warn("agent.tolerations", "none: nodes with taints have no agent, and no pod is placed there by Wattle",
             "leave them as they are");
}
}  // namespace

std::vector<Finding> judge_values(const OrderedJson& document, const std::string& where) {
  Findings out(where);
  const View values(document);
  judge_scheduler_part(out, values["scheduler"], values["shim"]);
  judge_installation(out, values);
  std::vector<Finding> all = std::move(out).all();
  if (all.empty()) all.push_back({where, "values", State::ok, "nothing against them", ""});
  return all;
}

}  // namespace wattle::cli
