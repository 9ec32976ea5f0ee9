// pod_hold: which pods must stay on their node, and that an owner's annotation decides.
#include <doctest/doctest.h>

#include "common/kube/pod.hpp"
#include "common/kube/pod_hold.hpp"

namespace wattle::kube {
namespace {

using json = wattle::SortedJson;

json owned_pod() {
  return json::parse(R"({"metadata": {"name": "web-1", "ownerReferences": [
    {"kind": "ReplicaSet", "name": "web", "controller": true}]}, "spec": {"volumes": [
    {"name": "token", "projected": {}}, {"name": "run", "emptyDir": {"medium": "Memory"}}]}})");
}

TEST_CASE("a pod of a controller with volumes in memory may be evicted") {
  CHECK(read_pod_hold(owned_pod()) == PodHold::none);
}

TEST_CASE("a pod without a controller holds its node") {
  json pod = owned_pod();
  pod["metadata"]["ownerReferences"] = {{{"kind", "ReplicaSet"}, {"name", "web"}}};
  CHECK(read_pod_hold(pod) == PodHold::bare);
}

TEST_CASE("a volume that exists only on the node holds it, unless the owner exempts that volume") {
  json pod = owned_pod();
  pod["spec"]["volumes"] = {{{"name", "scratch"}, {"emptyDir", json::object()}}};
  CHECK(read_pod_hold(pod) == PodHold::local_volume);
  pod["metadata"]["annotations"] = {{"cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes", "tmp,scratch"}};
  CHECK(read_pod_hold(pod) == PodHold::none);
  pod["spec"]["volumes"] = {{{"name", "host"}, {"hostPath", {{"path", "/var"}}}}};
  CHECK(read_pod_hold(pod) == PodHold::local_volume);
  pod["spec"]["volumes"] = {{{"name", "data"}, {"persistentVolumeClaim", {{"claimName", "d"}}}}};
  CHECK(read_pod_hold(pod) == PodHold::local_volume);
}

TEST_CASE("a hard constraint that only a scheduler can check holds the node, and a soft one does not") {
  const auto hold_of = [](const char* spec) {
    json pod = owned_pod();
    pod["spec"] = json::parse(spec);
    return read_pod_hold(pod);
  };
  for (
      const char* hard : {
          R"({"containers": [{"resources": {"limits": {"nvidia.com/gpu": "1"}}}]})",
          R"({"containers": [{"resources": {"requests": {"cpu": "1"}}}, {"resources": {"requests": {"hugepages-2Mi": "64Mi"}}}]})",
          R"({"containers": [], "initContainers": [{"resources": {"limits": {"example.com/dongle": 2}}}]})",
          R"({"containers": [{"ports": [{"containerPort": 80}, {"containerPort": 443, "hostPort": 443}]}]})",
          R"({"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpu"}]})",
          R"({"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "z"}]}}})",
          R"({"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "z"}]}}})",
          R"({"topologySpreadConstraints": [{"whenUnsatisfiable": "ScheduleAnyway"}, {"whenUnsatisfiable": "DoNotSchedule",
               "minDomains": 3}]})",
          R"({"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone"}]})",
      }) {
    CAPTURE(hard);
    CHECK(hold_of(hard) == PodHold::constrained);
  }
  for (const char* soft : {
           R"({"containers": [{"resources": {"limits": {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "0"}}}]})",
           R"({"containers": [{"ports": [{"containerPort": 80, "hostPort": 0}], "resources": {"limits": null}}]})",
           R"({"resourceClaims": null, "topologySpreadConstraints": [], "affinity": {"podAntiAffinity": null}})",
           R"({"affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]}}})",
           R"({"topologySpreadConstraints": [{"whenUnsatisfiable": "ScheduleAnyway"}]})",
       }) {
    CAPTURE(soft);
    CHECK(hold_of(soft) == PodHold::none);
  }
  json exempt = owned_pod();
  exempt["spec"]["resourceClaims"] = {{{"name", "gpu"}}};
  exempt["metadata"]["annotations"] = {{"cluster-autoscaler.kubernetes.io/safe-to-evict", "true"}};
  CHECK(read_pod_hold(exempt) == PodHold::none);
}

TEST_CASE("annotations of autoscalers take precedence over owners and volumes") {
  json pod = owned_pod();
  pod["metadata"]["annotations"] = {{"karpenter.sh/do-not-disrupt", "true"}};
  CHECK(read_pod_hold(pod) == PodHold::undisruptable);
  pod["metadata"]["annotations"]["cluster-autoscaler.kubernetes.io/safe-to-evict"] = "false";
  CHECK(read_pod_hold(pod) == PodHold::undisruptable);
  pod["metadata"]["annotations"]["cluster-autoscaler.kubernetes.io/safe-to-evict"] = "true";
  CHECK(read_pod_hold(pod) == PodHold::none);
}

TEST_CASE("pods of DaemonSets and ended pods hold no node") {
  json pod = owned_pod();
  pod["metadata"]["ownerReferences"][0]["kind"] = "DaemonSet";
  pod["spec"]["volumes"] = {{{"name", "host"}, {"hostPath", {{"path", "/var"}}}}};
  CHECK(read_pod(pod).hold == PodHold::none);
  pod["metadata"]["ownerReferences"][0]["kind"] = "Job";
  CHECK(read_pod(pod).hold == PodHold::local_volume);
  pod["status"] = {{"phase", "Failed"}};
  CHECK(read_pod(pod).hold == PodHold::none);
}

}  // namespace
}  // namespace wattle::kube
