// pod: what Wattle needs of a v1.Pod, wherever it came from: a scheduler's request or the API server.
// Source   metadata.{uid,name,namespace,labels,annotations,ownerReferences,deletionTimestamp,managedFields}, spec.{nodeName,schedulerName,
//          containers,initContainers,resources,overhead}, status.{phase,reason,nominatedNodeName,qosClass,conditions,{c,initC,ephemeralC}ontainerStatuses}
// Units    cores, bytes, ms
// Errors   none: what cannot be read is told in `problems` and left at its default
// Threads  pure
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/json/value.hpp"
#include "common/kube/mirror_claim.hpp"
namespace wattle::kube {

// Why a pod could not run, or stay, where it is bound; of several the last of these.
enum class PodFailure : std::uint8_t {
  none,
  failed_start,  // refused by its node, or a container that waits for anything but its image or volumes
  crash,         // a container ended with another status than 0, and nobody had asked the pod to go
  oom_kill,
  evicted,  // by its node, or by the cluster (condition DisruptionTarget)
};
std::string_view to_string(PodFailure failure);

// What its kubelet says of requests that were changed while it runs; of several the last of these.
enum class PodResize : std::uint8_t {
  none,
  in_progress,
  failing,     // in progress, and its kubelet tells of an error
  deferred,    // no room now; the kubelet tries again
  infeasible,  // never on this node
};
std::string_view to_string(PodResize resize);

// What its annotation wattle.dev/provision says: of limits and requests a pod has at most one.
enum class PodProvision : std::uint8_t { unsaid, off, suggest, limits, requests };
std::string_view to_string(PodProvision level);  // empty: unsaid

// The field manager of `wattle provision set`: who owns the requests of a pod.
inline constexpr const char* kRequestsManager = "wattle-requests";

struct Pod {
  std::string uid;     // that the API server gave it; of a static pod that StaticPods has resolved, that of its cgroup
  MirrorClaim mirror;  // the static pod that it says it mirrors
  std::string name, pod_namespace;
  std::string app;  // owner and images: "ReplicaSet/web-5d9 nginx:1.25"
  // "shop/ReplicaSet/web-5d9": the owner that made it, for one that has several; empty: nobody owns it
  std::string replica_of;
  std::string owner;      // who is asked for what it costs: "Deployment/web", "Job/copy"; "Pod/a" if nobody owns it
  std::string labels;     // "key=value", sorted, between commas; what is beyond 4 KiB is left out
  std::string node_name;  // where it is bound; empty: nowhere yet
  std::string nominated_node;  // while it is bound nowhere: where its scheduler expects it to be; empty: nowhere
  std::string scheduler;       // spec.schedulerName
  std::string containers;      // names, between commas; init containers are not among them
  // "0123456789ab=web" between commas, of those that run and those before them, init containers among them.
  std::string container_ids;
  std::string qos;              // status.qosClass; empty: not told
  bool shrink_allowed = false;  // annotation wattle.dev/shrink: allowed
  bool requests_set = false;    // by kRequestsManager
  PodProvision provision = PodProvision::unsaid;
  PodResize resize = PodResize::none;
  std::string resize_message;    // its kubelet's
  double cpu_request_cores = 0;  // as kube-scheduler counts: while requests change, the most of before and after
  double memory_request_bytes = 0;
  bool daemonset = false;      // owned by a DaemonSet, or by the Node that it is bound to
  bool ended = false;          // succeeded or failed: it holds nothing any more
  bool leaving = false;        // is being deleted
  bool unschedulable = false;  // kube-scheduler found no node for it
  PodFailure failure = PodFailure::none;
  std::optional<double> latency_soft_ms, latency_hard_ms;
  std::string latency_target;
  std::vector<std::string> problems;  // values that were ignored, and why
  bool operator==(const Pod&) const = default;
};
// Of two such lists what both say, the later one where they differ; what was told first goes where it becomes too long.
std::string merge_container_ids(std::string_view earlier, std::string_view later);
// Empty: nobody told.
std::string_view container_name(std::string_view container_ids, std::string_view id);
inline const std::string& key_of(const Pod& pod) { return pod.uid; }

Pod read_pod(const SortedJson& object);

}  // namespace wattle::kube
