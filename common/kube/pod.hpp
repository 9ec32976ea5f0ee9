// pod: the fields of a v1.Pod that Wattle uses, from a scheduler's request or the API server.
// Source   metadata.{uid,name,namespace,labels,annotations,ownerReferences,deletionTimestamp,managedFields},
//          spec.{nodeName,schedulerName,containers,initContainers,resources,overhead},
//          status.{phase,reason,nominatedNodeName,qosClass,conditions}, status.{containerStatuses,
//          initContainerStatuses,ephemeralContainerStatuses}
// Units    cores, bytes, ms
// Errors   none: unreadable values keep their default and are listed in `problems`
// Threads  pure
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/json/value.hpp"
#include "common/kube/mirror_claim.hpp"
#include "common/kube/pod_hold.hpp"
namespace wattle::kube {

// Reason why a pod could not start, or stay, on its node; if several apply, the last of these.
enum class PodFailure : std::uint8_t {
  none,
  failed_start,  // rejected by its node, or a container waits for something other than its image or volumes
  crash,         // a container exited with a status other than 0, and the pod was not asked to end
  oom_kill,
  evicted,  // evicted by its node or by the cluster (condition DisruptionTarget)
};
std::string_view to_string(PodFailure failure);

// State of a change of requests while the pod runs, as its kubelet reports it; if several apply, the last of these.
enum class PodResize : std::uint8_t {
  none,
  in_progress,
  failing,     // still in progress, and the kubelet reports an error
  deferred,    // no room now; the kubelet tries again
  infeasible,  // never on this node
};
std::string_view to_string(PodResize resize);

// Value of the annotation wattle.dev/provision: a pod has its limits or its requests set, never both.
enum class PodProvision : std::uint8_t { unsaid, off, suggest, limits, requests, protect };
std::string_view to_string(PodProvision level);  // "" for unsaid

// Field manager under which `wattle provision set` owns the requests of a pod.
inline constexpr const char* kRequestsManager = "wattle-requests";

struct Pod {
  std::string uid;     // UID from the API server; for a static pod that StaticPods has resolved, the UID of its cgroup
  MirrorClaim mirror;  // the static pod that it claims to mirror
  std::string name, pod_namespace;
  std::string app;  // owner and images: "ReplicaSet/web-5d9 nginx:1.25"
  // "shop/ReplicaSet/web-5d9": the owner, if it can have several replicas; empty: no owner
  std::string replica_of;
  std::string owner;           // the workload that is charged: "Deployment/web", "Job/copy"; "Pod/a" without an owner
  std::string labels;          // "key=value", sorted, separated by commas; cut at 4 KiB
  std::string node_name;       // node to which it is bound; empty: not bound
  std::string nominated_node;  // node that its scheduler expects while it is not bound; empty: none
  std::string scheduler;       // spec.schedulerName
  std::vector<std::string> node_terms;  // nodes that it may run on (node_terms.hpp); empty: all
  std::string containers;               // names, separated by commas; without init containers
  // "0123456789ab=web", separated by commas, of current and earlier containers including init containers.
  std::string container_ids;
  std::string qos;              // status.qosClass; empty: unknown
  bool shrink_allowed = false;  // annotation wattle.dev/shrink: allowed
  bool requests_set = false;    // kRequestsManager has set its requests
  PodProvision provision = PodProvision::unsaid;
  PodResize resize = PodResize::none;
  std::string resize_message;    // message of its kubelet
  double cpu_request_cores = 0;  // counted like kube-scheduler does; while requests change, the larger of old and new
  double memory_request_bytes = 0;
  std::int64_t started_s = 0;    // when its kubelet accepted it, Unix seconds; 0: it has not
  bool daemonset = false;        // owned by a DaemonSet, or by the Node to which it is bound
  bool ended = false;            // succeeded or failed; holds no resources
  bool leaving = false;          // is being deleted
  bool evicted = false;          // is being deleted by the Eviction API, by whomever
  bool unschedulable = false;    // kube-scheduler found no node for it
  PodHold hold = PodHold::none;  // why it must stay on its node
  PodFailure failure = PodFailure::none;
  std::optional<double> latency_soft_ms, latency_hard_ms;
  std::string latency_target;
  std::vector<std::string> problems;  // ignored values, with the reason
  bool operator==(const Pod&) const = default;
};
// Merges two lists of container ids; `later` wins where they differ. Drops the oldest entries of a long list.
std::string merge_container_ids(std::string_view earlier, std::string_view later);
// Name of the container with this id; empty if unknown.
std::string_view container_name(std::string_view container_ids, std::string_view id);
inline const std::string& key_of(const Pod& pod) { return pod.uid; }

Pod read_pod(const SortedJson& object);

}  // namespace wattle::kube
