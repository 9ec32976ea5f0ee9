// pod: what Wattle needs of a v1.Pod, wherever it came from: a scheduler's request or the API server.
// Source   metadata.{uid,name,namespace,annotations,ownerReferences,deletionTimestamp}, spec.{nodeName,schedulerName,containers,
//          initContainers,resources,overhead}, status.phase
// Units    cores, bytes, ms
// Errors   none: what cannot be read is told in `problems` and left at its default
// Threads  pure
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace wattle::kube {

struct Pod {
  std::string uid;  // of a static pod the one that its node gave it, as in its cgroup's name
  std::string name, pod_namespace;
  std::string app;        // owner and images: "ReplicaSet/web-5d9 nginx:1.25"
  std::string node_name;  // where it is bound; empty: nowhere yet
  std::string scheduler;  // spec.schedulerName
  double cpu_request_cores = 0;
  double memory_request_bytes = 0;
  bool daemonset = false;  // owned by a DaemonSet, or static
  bool ended = false;      // succeeded or failed: it holds nothing any more
  bool leaving = false;    // is being deleted
  std::optional<double> latency_soft_ms, latency_hard_ms;
  std::string latency_target;
  std::vector<std::string> problems;  // values that were ignored, and why
  bool operator==(const Pod&) const = default;
};
inline const std::string& key_of(const Pod& pod) { return pod.uid; }

Pod read_pod(const nlohmann::json& object);

}  // namespace wattle::kube
