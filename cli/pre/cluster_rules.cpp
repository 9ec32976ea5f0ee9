#include "cli/pre/cluster_rules.hpp"

#include <algorithm>
#include <set>

#include "cli/fleet.hpp"
#include "cli/parts.hpp"
#include "cli/pre/rules.hpp"
#include "cli/view.hpp"

namespace wattle::cli {

namespace {
constexpr MinorVersion kBpfKernel{5, 12};
constexpr MinorVersion kSeccompContainerd{1, 6};  // from 1.6.9 on, its default profile lets CAP_BPF reach bpf(2)

bool is_ready(const View& node) {
  for (const View& condition : node["status"]["conditions"].items())
    if (condition["type"].text() == "Ready") return condition["status"].text() == "True";
  return false;
}

struct NodeNames {
  std::vector<std::string> not_linux, old_kernel, old_runtime, not_ready;
  std::set<std::string> architectures;
};

NodeNames sorted_out(const std::vector<Json>& nodes) {
  NodeNames out;
  for (const Json& object : nodes) {
    const View node(object), info = node["status"]["nodeInfo"];
    const std::string name = node["metadata"]["name"].text_or();
    if (!is_ready(node)) out.not_ready.push_back(name);
    const std::string system = info["operatingSystem"].text_or("");
    if (!system.empty() && system != "linux") {  // empty: its kubelet has not reported it yet
      out.not_linux.push_back(name);
      continue;
    }
    out.architectures.insert(info["architecture"].text_or("unknown"));
    const auto kernel = parse_version(info["kernelVersion"].text_or(""));
    if (kernel && *kernel < kBpfKernel) out.old_kernel.push_back(name);
    const std::string runtime = info["containerRuntimeVersion"].text_or("");
    const auto version =
        parse_version(std::string_view(runtime).substr(std::min(runtime.rfind('/') + 1, runtime.size())));
    if (runtime.starts_with("containerd://") && version && *version < kSeccompContainerd)
      out.old_runtime.push_back(name);
  }
  return out;
}
}  // namespace

std::vector<Finding> judge_version(const Json& document, const std::string& scheduler_tag) {
  Findings out("cluster");
  const std::string text = View(document)["gitVersion"].text_or("");
  const auto server = parse_version(text);
  if (!server) {
    out.failed("version", "the API server reports no version", "check that the address is that of an API server");
    return std::move(out).all();
  }
  if (*server < kOldestKube)
    out.failed("version", text + " is too old", kOldestKube.text() + " or later");
  else if (*server > kNewestKube)
    out.warn("version", text + " is newer than the newest tested version, " + kNewestKube.text(),
             "test it in shadow mode first");
  else
    out.ok("version", text);
  const std::string& tag = scheduler_tag;
  if (tag.empty()) {
    out.ok("scheduler.tag", "the chart uses the cluster's own version, " + text);
    return std::move(out).all();
  }
  const auto scheduler = parse_version(tag);
  const std::string fix = "leave scheduler.tag empty or set it to v" + server->text() + " with its newest patch";
  if (scheduler && *scheduler > *server)
    out.failed("scheduler.tag", tag + " is newer than the API server, " + text, fix);
  else if (scheduler && (scheduler->major < server->major || scheduler->minor + 1 < server->minor))
    out.failed("scheduler.tag", tag + " is more than one minor version older than the API server, " + text, fix);
  else if (scheduler && *scheduler < *server)
    out.warn("scheduler.tag", tag + " is older than the API server, " + text, fix);
  else
    out.ok("scheduler.tag", tag);
  return std::move(out).all();
}

std::vector<Finding> judge_storage(const std::vector<Json>& classes, const std::string& wanted) {
  Findings out("cluster");
  const std::string pending = ": the controller's volume stays pending until you create a PersistentVolume";
  std::vector<std::string> names, defaults;
  for (const Json& object : classes) {
    const View metadata = View(object)["metadata"];
    names.push_back(metadata["name"].text_or());
    if (metadata["annotations"]["storageclass.kubernetes.io/is-default-class"].text() == "true")
      defaults.push_back(names.back());
  }
  const bool found = wanted.empty() ? !defaults.empty() : std::find(names.begin(), names.end(), wanted) != names.end();
  if (found)
    out.ok("storage", wanted.empty() ? defaults.front() + " is the default storage class" : wanted);
  else if (wanted.empty())
    out.warn("storage", "the cluster has no default storage class" + pending,
             names.empty() ? "create a PersistentVolume, or set controller.persistence.existingClaim to a claim"
                           : "set controller.persistence.storageClass to one of " + joined(names, ", "));
  else
    out.failed("storage", "unknown storage class " + wanted + pending,
               names.empty() ? "" : "set controller.persistence.storageClass to one of " + joined(names, ", "));
  return std::move(out).all();
}

std::vector<Finding> judge_nodes(const std::vector<Json>& nodes) {
  Findings out("cluster");
  const NodeNames names = sorted_out(nodes);
  const std::size_t all = nodes.size();
  if (all == 0) out.warn("nodes", "the cluster has no nodes", "");
  if (!names.not_ready.empty())
    out.warn("nodes.ready", "not ready: " + some_of(names.not_ready, all), "kubectl describe node");
  if (!names.not_linux.empty()) out.warn("nodes.linux", "agents do not support " + some_of(names.not_linux, all), "");
  if (names.architectures.size() > 1)
    out.warn("nodes.architecture",
             "several architectures: " + joined({names.architectures.begin(), names.architectures.end()}, ", "),
             "build multi-architecture images");
  if (!names.old_kernel.empty())
    out.warn("nodes.kernel",
             "kernel older than " + kBpfKernel.text() + ", " + some_of(names.old_kernel, all) +
                 "; BPF programs do not run there",
             "");
  if (!names.old_runtime.empty())
    out.warn("nodes.runtime",
             "containerd older than 1.6.9: " + some_of(names.old_runtime, all) +
                 "; its seccomp profile denies bpf and perf_event_open",
             "upgrade containerd or use a Localhost profile");
  if (all > 0 && names.not_ready.size() < all)
    out.ok("nodes", std::to_string(all - names.not_ready.size()) + " of " + std::to_string(all) + " ready");
  return std::move(out).all();
}

std::vector<Finding> judge_namespace(const std::string& name, const std::string& level,
                                     const std::optional<Json>& found) {
  Findings out("cluster");
  const std::string what = "namespace." + name;
  if (!found) {
    out.ok(what, "does not exist yet; the chart creates it");
    return std::move(out).all();
  }
  const std::string enforced = View(*found)["metadata"]["labels"]["pod-security.kubernetes.io/enforce"].text_or("");
  const std::string fix =
      "kubectl label namespace " + name + " --overwrite pod-security.kubernetes.io/enforce=" + level;
  if (level == "privileged" && (enforced == "restricted" || enforced == "baseline"))
    out.failed(what, "Pod Security " + enforced + " denies the agents' host paths", fix);
  else if (enforced.empty())
    out.warn(what, "exists without a Pod Security label; the cluster's default applies", fix);
  else if (level == "restricted" && enforced != level)
    out.warn(what, "Pod Security " + enforced + " allows more than is needed", fix);
  else
    out.ok(what, "Pod Security " + enforced);
  return std::move(out).all();
}

std::vector<Finding> judge_priority(const std::string& name_space, const std::string& priority,
                                    const std::optional<std::string>& refusal, bool quota) {
  Findings out("cluster");
  const std::string what = "priority." + name_space;
  const std::string pods = priority.empty() ? "pods" : "pods of the priority " + priority;
  const auto says = [&refusal](const char* words) { return refusal->find(words) != std::string::npos; };
  // As in plugin/pkg/admission of Kubernetes: resourcequota, priority and limitranger.
  const bool limited = refusal && says("insufficient quota to match these scopes");
  if (!refusal)
    out.ok(what, pods + " are admitted");
  else if (limited && quota)
    out.ok(what, pods + " need a ResourceQuota, which the chart creates");
  else if (limited)
    out.failed(what, pods + " are rejected without a ResourceQuota",
               "set resourceQuotas.enabled: true, or priorityClassName of agent, controller and scheduler to a class of"
               " your own");
  else if (says("exceeded quota"))
    out.failed(what, *refusal, "raise that ResourceQuota");
  else if (says("failed quota") || says("usage per"))
    out.failed(what, *refusal,
               "set `resources` of agent, controller, shim, scheduler and requests as that ResourceQuota or LimitRange"
               " requires");
  else if (says("no PriorityClass with name"))
    out.failed(what, *refusal, "create that PriorityClass, or set priorityClassName to another one");
  else
    out.warn(what, "the check failed: " + *refusal, "run the command as a cluster administrator");
  return std::move(out).all();
}

}  // namespace wattle::cli
