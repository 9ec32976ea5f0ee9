// objects: parsing pods and nodes of an API server, including hostile ones.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "common/json/value.hpp"
#include "common/kube/node.hpp"
#include "common/kube/pod.hpp"
#include "common/kube/timestamp.hpp"

namespace wattle::kube {
namespace {

using json = wattle::SortedJson;

json some_pod() {
  return json::parse(R"({
    "metadata": {"uid": "u-1", "name": "web-5d9-x", "namespace": "shop",
      "ownerReferences": [{"kind": "ReplicaSet", "name": "web-5d9", "controller": true}],
      "annotations": {"wattle.dev/latency-soft-ms": "20", "wattle.dev/latency-hard-ms": "30"}},
    "spec": {"nodeName": "n1", "schedulerName": "wattle", "containers": [
      {"image": "nginx:1.25", "resources": {"requests": {"cpu": "250m", "memory": "64Mi"}}}]},
    "status": {"phase": "Running"}})");
}

json some_node() {
  return json::parse(R"({
    "metadata": {"uid": "u-2", "name": "n1", "labels": {"kubernetes.io/arch": "amd64", "odd": 3}},
    "spec": {"unschedulable": true},
    "status": {"allocatable": {"cpu": "7910m", "memory": "31Gi", "pods": "250"},
      "conditions": [{"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": "True"}],
      "nodeInfo": {"kernelVersion": "6.1.0", "kubeletVersion": "v1.35.4"}}})");
}

TEST_CASE("the time at which a kubelet accepted a pod is parsed, and invalid text gives no time") {
  CHECK(parse_time_s("2026-01-31T12:00:01Z") == 1769860801);
  for (const char* text : {"", "2026-01-31", "2026-01-31T12:00:01", "2026-01-31T12:00:01Z ", "2026-13-31T12:00:01Z"})
    CHECK(parse_time_s(text) == 0);
  const SortedJson pod = SortedJson::parse(R"({"status": {"startTime": "1970-01-01T00:01:00Z"}})");
  CHECK(read_pod(pod).started_s == 60);
  CHECK(read_pod(SortedJson::parse(R"({"status": {"startTime": 60}})")).started_s == 0);
}

TEST_CASE("a pod's owner is its Deployment if its labels show one, and labels are sorted") {
  json object = some_pod();
  CHECK(read_pod(object).owner == "ReplicaSet/web-5d9");
  CHECK(read_pod(object).labels.empty());
  object["metadata"]["labels"] = {{"team", "shop"}, {"pod-template-hash", "5d9"}, {"app", ""}, {"odd", 3}};
  CHECK(read_pod(object).owner == "Deployment/web");
  CHECK(read_pod(object).labels == "app=,pod-template-hash=5d9,team=shop");
  object["metadata"]["labels"] = {{"pod-template-hash", "other"}, {"a,b", "c"}, {"d", "e,f=g"}, {"x=y", "z"}};
  CHECK(read_pod(object).owner == "ReplicaSet/web-5d9");
  CHECK(read_pod(object).labels == "pod-template-hash=other");
  object["metadata"]["labels"] = {{"long", std::string(5000, 'x')}, {"short", "y"}};
  CHECK(read_pod(object).labels == "short=y");
  object["metadata"].erase("ownerReferences");
  CHECK(read_pod(object).owner == "Pod/" + read_pod(object).name);
  object["metadata"]["labels"] = "none";
  CHECK(read_pod(object).labels.empty());
}

TEST_CASE("a pod's level is read from its annotation; an invalid level is off, and reported") {
  json object = some_pod();
  CHECK(read_pod(object).provision == PodProvision::unsaid);
  for (const PodProvision level : {PodProvision::off, PodProvision::suggest, PodProvision::limits,
                                   PodProvision::requests, PodProvision::protect}) {
    object["metadata"]["annotations"]["wattle.dev/provision"] = std::string(to_string(level));
    CHECK(read_pod(object).provision == level);
    CHECK(read_pod(object).problems.empty());
  }
  for (const json& other : {json("limits, requests"), json(""), json(7)}) {
    object["metadata"]["annotations"]["wattle.dev/provision"] = other;
    CHECK(read_pod(object).provision == PodProvision::off);
    REQUIRE(read_pod(object).problems.size() == 1);
    CHECK(read_pod(object).problems.front().find("treated as off") != std::string::npos);
  }
}

TEST_CASE("the permission to shrink, the container names and the QoS class of a pod are read") {
  json object = some_pod();
  CHECK_FALSE(read_pod(object).shrink_allowed);
  CHECK(read_pod(object).containers.empty());
  CHECK(read_pod(object).qos.empty());
  object["metadata"]["annotations"]["wattle.dev/shrink"] = "allowed";
  object["spec"]["containers"][0]["name"] = "web";
  object["spec"]["containers"].push_back({{"name", "proxy"}});
  object["status"]["qosClass"] = "Burstable";
  const Pod pod = read_pod(object);
  CHECK(pod.shrink_allowed);
  CHECK(pod.containers == "web,proxy");
  CHECK(pod.qos == "Burstable");
  CHECK(pod.problems.empty());
  for (const json& other : {json("yes"), json(true), json("Allowed")}) {
    object["metadata"]["annotations"]["wattle.dev/shrink"] = other;
    CHECK_FALSE(read_pod(object).shrink_allowed);
    REQUIRE(read_pod(object).problems.size() == 1);
    CHECK(read_pod(object).problems.front().find("not 'allowed', the only valid value") != std::string::npos);
  }
}

TEST_CASE("container ids are read, including earlier ones and init containers") {
  const std::string digits(52, '0');
  const auto id = [&](const std::string& first) { return "containerd://" + first + digits; };
  wattle::SortedJson object;
  object["status"]["initContainerStatuses"] = {{{"name", "init"},
                                                {"containerID", id("aaaaaaaaaaaa")},
                                                {"state", {{"terminated", {{"containerID", id("aaaaaaaaaaaa")}}}}}}};
  object["status"]["containerStatuses"] = {{{"name", "web"},
                                            {"containerID", id("cccccccccccc")},
                                            {"lastState", {{"terminated", {{"containerID", id("bbbbbbbbbbbb")}}}}}},
                                           {{"name", "waits"}},
                                           {{"name", "odd"}, {"containerID", "docker://short"}},
                                           {{"name", "a,b=c"}, {"containerID", id("dddddddddddd")}}};
  const Pod pod = read_pod(object);
  CHECK(pod.container_ids == "aaaaaaaaaaaa=init,bbbbbbbbbbbb=web,cccccccccccc=web");
  CHECK(container_name(pod.container_ids, "cccccccccccc") == "web");
  CHECK(container_name(pod.container_ids, "cccc").empty());
  CHECK(container_name("", "cccccccccccc").empty());
  const std::string later = merge_container_ids(pod.container_ids, "eeeeeeeeeeee=web,cccccccccccc=other");
  CHECK(later == "aaaaaaaaaaaa=init,bbbbbbbbbbbb=web,eeeeeeeeeeee=web,cccccccccccc=other");
  CHECK(merge_container_ids(later, "") == later);
  std::string many;
  for (int i = 0; i < 2000; ++i) many = merge_container_ids(many, std::to_string(100000000000 + i) + "=web");
  CHECK(many.size() <= 4096);
  CHECK(container_name(many, "100000001999") == "web");
  CHECK(container_name(many, "100000000000").empty());
}

TEST_CASE("a pod is parsed as the API server reports it") {
  const Pod pod = read_pod(some_pod());
  CHECK(pod.uid == "u-1");
  CHECK(pod.app == "ReplicaSet/web-5d9 nginx:1.25");
  CHECK(pod.node_name == "n1");
  CHECK(pod.scheduler == "wattle");
  CHECK(pod.cpu_request_cores == doctest::Approx(0.25));
  CHECK(pod.memory_request_bytes == doctest::Approx(64 * 1024 * 1024));
  CHECK(pod.latency_soft_ms == 20);
  CHECK(pod.latency_hard_ms == 30);
  CHECK_FALSE(pod.ended);
  CHECK_FALSE(pod.leaving);
  CHECK_FALSE(pod.daemonset);
  CHECK(pod.problems.empty());
}

TEST_CASE("a pod that succeeded, failed or is being deleted is marked as such") {
  json object = some_pod();
  for (const char* phase : {"Succeeded", "Failed"}) {
    object["status"]["phase"] = phase;
    CHECK(read_pod(object).ended);
  }
  object["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  CHECK(read_pod(object).leaving);
}

TEST_CASE("a pod that could not run or stay on its node has the reason; a deleted one did not fail") {
  const auto failure = [](const char* status, bool leaving = false) {
    json object = some_pod();
    object["status"] = json::parse(status);
    if (leaving) object["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
    return read_pod(object).failure;
  };
  const char* const image =
      R"({"phase": "Pending", "containerStatuses": [{"state": {"waiting": {"reason": "ErrImagePull"}}}]})";
  const char* const killed = R"({"phase": "Running", "containerStatuses": [{"state": {"running": {}},
      "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}]})";
  const char* const crashed =
      R"({"phase": "Failed", "containerStatuses": [{"state": {"terminated": {"exitCode": 3}}}]})";
  const char* const again =
      R"({"phase": "Running", "containerStatuses": [{"state": {"waiting": {"reason": "CrashLoopBackOff"}},
      "lastState": {"terminated": {"exitCode": 1}}}]})";
  CHECK(
      failure(
          R"({"phase": "Pending", "containerStatuses": [{"state": {"waiting": {"reason": "ContainerCreating"}}}]})") ==
      PodFailure::none);
  CHECK(failure(image) == PodFailure::failed_start);
  CHECK(failure(R"({"phase": "Failed", "reason": "OutOfcpu"})") == PodFailure::failed_start);
  CHECK(failure(R"({"phase": "Pending", "initContainerStatuses": [{"state": {"terminated": {"exitCode": 2}}}]})") ==
        PodFailure::crash);
  CHECK(failure(killed) == PodFailure::oom_kill);
  CHECK(failure(killed, true) == PodFailure::oom_kill);
  CHECK(failure(crashed) == PodFailure::crash);
  CHECK(failure(again) == PodFailure::crash);
  CHECK(failure(R"({"phase": "Failed", "reason": "Evicted"})") == PodFailure::evicted);
  CHECK(failure(R"({"phase": "Running", "conditions": [{"type": "DisruptionTarget", "status": "True"}]})", true) ==
        PodFailure::evicted);
  // Deleted, past its deadline, or completed: the exit of its containers is not a crash.
  CHECK(failure(crashed, true) == PodFailure::none);
  CHECK(failure(R"({"phase": "Failed", "reason": "DeadlineExceeded",
      "containerStatuses": [{"state": {"terminated": {"exitCode": 143}}}]})") == PodFailure::none);
  CHECK(failure(R"({"phase": "Succeeded", "containerStatuses": [{"state": {"terminated": {"exitCode": 0}}}],
      "initContainerStatuses": [{"state": {"terminated": {"exitCode": 143}}}]})") == PodFailure::none);
}

TEST_CASE("a request larger than any machine counts as more than any has, and never as zero") {
  json object = some_pod();
  for (const char* huge : {"1E", "1Ei", "8E", "1e30", "1e999", "9999999999999999999999"}) {
    object["spec"]["containers"][0]["resources"]["requests"] = {{"cpu", huge}, {"memory", huge}};
    const Pod pod = read_pod(object);
    CHECK(pod.cpu_request_cores >= 1e18);
    CHECK(pod.memory_request_bytes >= 1e18);
    CHECK(pod.problems.empty());
  }
}

TEST_CASE("while requests change a pod holds the larger of old and new, except for an infeasible change") {
  json object = some_pod();
  object["spec"]["containers"][0]["name"] = "web";
  object["status"]["containerStatuses"] = json::parse(
      R"([{"name":"web","allocatedResources":{"cpu":"1","memory":"32Mi"},"resources":{"requests":{"cpu":"100m"}}}])");
  CHECK(read_pod(object).cpu_request_cores == 1);  // the kubelet has not yet reported the change
  const auto report = [&](const char* type, const char* reason) {
    object["status"]["conditions"] = {{{"type", type}, {"status", "True"}, {"reason", reason}, {"message", "so"}}};
    return read_pod(object);
  };
  CHECK(report("PodResizeInProgress", "").resize == PodResize::in_progress);
  CHECK(report("PodResizeInProgress", "Error").resize == PodResize::failing);
  const Pod deferred = report("PodResizePending", "Deferred");
  CHECK(deferred.resize == PodResize::deferred);
  CHECK(deferred.resize_message == "so");
  CHECK(deferred.cpu_request_cores == 1);
  CHECK(deferred.memory_request_bytes == 64 << 20);
  const Pod never = report("PodResizePending", "Infeasible");
  CHECK(never.resize == PodResize::infeasible);
  CHECK(never.memory_request_bytes == 32 << 20);
  // An API server without allocatedResources still has the actual requests.
  object["status"]["containerStatuses"][0].erase("allocatedResources");
  CHECK(read_pod(object).cpu_request_cores == 0.1);
  CHECK(report("PodResizePending", "Deferred").cpu_request_cores == 0.25);
  object["status"]["conditions"][0]["status"] = "False";
  CHECK(read_pod(object).resize == PodResize::none);
  CHECK_FALSE(read_pod(object).requests_set);
  object["metadata"]["managedFields"] = {{{"manager", "kubelet"}},
                                         {{"manager", kRequestsManager}, {"subresource", "resize"}}};
  CHECK(read_pod(object).requests_set);
}

TEST_CASE("only a pod that waits for a node without finding one is unschedulable") {
  json object = some_pod();
  object["spec"].erase("nodeName");
  object["status"] = json::parse(
      R"({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]})");
  CHECK(read_pod(object).unschedulable);
  json gated = object;
  gated["status"]["conditions"][0]["reason"] = "SchedulingGated";
  CHECK_FALSE(read_pod(gated).unschedulable);
  object["spec"]["nodeName"] = "n1";
  CHECK_FALSE(read_pod(object).unschedulable);
}

TEST_CASE("a node is parsed as the API server reports it") {
  const Node node = read_node(some_node());
  CHECK(node.name == "n1");
  CHECK(node.labels == std::map<std::string, std::string>{{"kubernetes.io/arch", "amd64"}});
  CHECK(node.cpu_cores == doctest::Approx(7.91));
  CHECK(node.memory_bytes == doctest::Approx(31.0 * 1024 * 1024 * 1024));
  CHECK(node.pod_capacity == 250);
  CHECK(node.ready);
  CHECK(node.cordoned);
  CHECK(node.kubelet == "v1.35.4");
  CHECK(node.problems.empty());
}

TEST_CASE("a pod counts as evicted only while the Eviction API deletes it") {
  json object = some_pod();
  object["status"]["conditions"] =
      json::parse(R"([{"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}])");
  object["metadata"].erase("deletionTimestamp");
  CHECK_FALSE(read_pod(object).evicted);
  object["metadata"]["deletionTimestamp"] = "2026-11-30T10:00:00Z";
  CHECK(read_pod(object).evicted);
  object["status"]["conditions"][0]["reason"] = "DeletionByTaintManager";
  CHECK_FALSE(read_pod(object).evicted);
}

TEST_CASE("a drain by another program is found in the cordon, the taints and the conditions of a node") {
  struct Row {
    const char* node;
    const char* holds;
    const char* empties;
  };
  const std::vector<Row> rows{
      {R"({})", "", ""},
      {R"({"spec": {"unschedulable": true}})", "it is cordoned, not by Wattle", ""},
      {R"({"spec": {"unschedulable": true}, "metadata": {"annotations": {"wattle.dev/power-marks": "cordon,label"}}})",
       "", ""},
      {R"({"spec": {"unschedulable": true}, "metadata": {"annotations": {"wattle.dev/power-marks": "label"}}})",
       "it is cordoned, not by Wattle", ""},
      {R"({"spec": {"taints": [{"key": "ToBeDeletedByClusterAutoscaler", "effect": "NoSchedule"}]}})", "",
       "Cluster Autoscaler empties it (taint ToBeDeletedByClusterAutoscaler)"},
      {R"({"spec": {"taints": [{"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}]}})",
       "Karpenter removes it (taint karpenter.sh/disrupted)", ""},
      {R"({"status": {"conditions": [{"type": "MaintenanceInProgress", "status": "True", "reason": "Firmware"}]}})",
       "another program drains or maintains it (condition MaintenanceInProgress, reason Firmware)", ""},
      {R"({"status": {"conditions": [{"type": "Drained", "status": "True", "reason": "WattleSleep"},
                                     {"type": "DrainInProgress", "status": "False", "reason": "Firmware"}]}})",
       "", ""},
      {R"({"spec": {"unschedulable": "yes", "taints": {"key": 1}}, "status": {"conditions": [3]}})", "", ""}};
  for (const Row& row : rows) {
    CAPTURE(row.node);
    CHECK(read_node(json::parse(row.node)).drainer == NodeDrainer{row.holds, row.empties});
  }
}

TEST_CASE("a node without capacity is reported with the reason, and Ready must be True") {
  json object = some_node();
  object["status"]["allocatable"].erase("memory");
  object["status"]["allocatable"]["cpu"] = "many";
  object["status"]["conditions"][1]["status"] = "Unknown";
  const Node node = read_node(object);
  CHECK(node.problems == std::vector<std::string>{"status.allocatable.cpu is not a quantity; ignored",
                                                  "status.allocatable.memory is missing; ignored"});
  CHECK_FALSE(node.ready);
}

TEST_CASE("a node with thousands of labels has its zone, and a very large number of pods is a limit") {
  json object = some_node();
  for (int label = 0; label < 5000; ++label)
    object["metadata"]["labels"]["feature.node.kubernetes.io/" + std::to_string(label)] = "true";
  object["metadata"]["labels"][std::string(kZoneLabel)] = "z1";
  object["status"]["allocatable"]["pods"] = "1e9";
  object["status"]["allocatable"]["cpu"] = 4;
  const Node node = read_node(object);
  CHECK(node.zone() == "z1");
  CHECK(node.labels.size() >= 5001);
  CHECK(node.pod_capacity == 1'000'000);
  CHECK(node.cpu_cores == 4);
  CHECK(node.problems.empty());
}

// Replaces any member of the object by a value of another shape.
json bent(json object) {
  const json odd =
      *rc::gen::element<json>(json(), json(true), json(-1), json(1e300), json("text"), json::array({1, "a"}),
                              json::object({{"a", 1}}), json(std::string(100'000, 'x')));
  json* at = &object;
  for (int depth = *rc::gen::inRange(1, 6); depth > 0 && at->is_structured() && !at->empty(); --depth) {
    auto next = at->begin();
    std::advance(next, *rc::gen::inRange<std::ptrdiff_t>(0, static_cast<std::ptrdiff_t>(at->size())));
    at = &*next;
  }
  *at = odd;
  return object;
}

TEST_CASE("for members of any shape, parsing ends, and names and requests stay bounded") {
  CHECK(rc::check([] {
    const Pod pod = read_pod(bent(some_pod()));
    RC_ASSERT(pod.uid.size() <= 256U);
    RC_ASSERT(pod.app.size() <= 512U);
    RC_ASSERT(pod.cpu_request_cores >= 0 && pod.cpu_request_cores < 1e20);
    const Node node = read_node(bent(some_node()));
    RC_ASSERT(node.name.size() <= 256U);
    RC_ASSERT(node.cpu_cores >= 0);
    RC_ASSERT(node.pod_capacity <= 1'000'000U);
  }));
}

}  // namespace
}  // namespace wattle::kube
