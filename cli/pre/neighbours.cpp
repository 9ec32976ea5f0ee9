#include "cli/pre/neighbours.hpp"

#include <algorithm>

#include "cli/view.hpp"

namespace wattle::cli {

namespace {
View pod_of(const View& workload) {
  const View spec = workload["spec"];
  return spec["jobTemplate"].present() ? spec["jobTemplate"]["spec"]["template"]["spec"] : spec["template"]["spec"];
}

// Returns "namespace/name" of the first workload with such an image; empty if there is none.
std::string who_runs(const std::vector<Json>& workloads, std::string_view image) {
  for (const Json& one : workloads)
    for (const View& container : pod_of(View(one))["containers"].items())
      if (container["image"].text_or("").find(image) != std::string::npos)
        return View(one)["metadata"]["namespace"].text_or() + "/" + View(one)["metadata"]["name"].text_or();
  return "";
}

// Counts those that change pods: "Off" only recommends, "Initial" acts only at a pod's creation, before placement.
std::size_t resizing(const std::vector<Json>& vpas) {
  return static_cast<std::size_t>(std::count_if(vpas.begin(), vpas.end(), [](const Json& one) {
    const std::string mode = View(one)["spec"]["updatePolicy"]["updateMode"].text_or("Auto");
    return mode != "Off" && mode != "Initial";
  }));
}
}  // namespace

bool has_group(const Json& groups, std::string_view name) {
  for (const View& group : View(groups)["groups"].items())
    if (group["name"].text() == name) return true;
  return false;
}

std::vector<Finding> judge_neighbours(const Neighbourhood& seen) {
  Findings out("cluster");
  const std::string scaler = who_runs(seen.workloads, "cluster-autoscaler");
  if (!scaler.empty() || seen.cluster_autoscaler_status)
    out.warn("cluster-autoscaler",
             (scaler.empty() ? std::string("publishes its state in kube-system") : scaler) +
                 ": removes nodes with low requests and evicts their pods",
             "annotate pods that must stay with cluster-autoscaler.kubernetes.io/safe-to-evict: \"false\", or raise"
             " --scale-down-unneeded-time");
  const std::string karpenter = who_runs(seen.workloads, "karpenter");
  if (!karpenter.empty() || has_group(seen.groups, "karpenter.sh"))
    out.warn("karpenter",
             (karpenter.empty() ? std::string("its resources are installed") : karpenter) +
                 ": consolidation replaces nodes and evicts their pods",
             "set disruption: {consolidationPolicy: WhenEmpty} in its NodePools");
  const std::string descheduler = who_runs(seen.workloads, "descheduler");
  if (!descheduler.empty())
    out.warn("descheduler", descheduler + ": evicts pods that Wattle placed, by different rules",
             "disable its plugins LowNodeUtilization, HighNodeUtilization and RemoveDuplicates for Wattle's pods");
  if (const std::size_t count = resizing(seen.vpas); count > 0)
    out.warn("vpa",
             std::to_string(count) + " of " + std::to_string(seen.vpas.size()) +
                 " VerticalPodAutoscalers change requests of running pods by evicting or resizing them",
             "set updatePolicy: {updateMode: Initial} for pods that must not move");
  std::vector<Finding> all = std::move(out).all();
  if (all.empty())
    all.push_back({"cluster", "neighbours", State::ok, "found no component that moves or resizes pods", ""});
  return all;
}

}  // namespace wattle::cli
