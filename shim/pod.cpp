#include "shim/pod.hpp"

#include <chrono>
#include <utility>

#include "common/kube/pod.hpp"
#include "common/kube/preferences.hpp"
#include "common/kube/scheduling_hold.hpp"

namespace wattle::shim {

std::string read_pod(const SortedJson& object, wire::Ask& into) {
  kube::Pod pod = kube::read_pod(object);
  into.pod_uid = std::move(pod.uid);
  into.pod_name = std::move(pod.name);
  into.pod_namespace = std::move(pod.pod_namespace);
  into.node_name = std::move(pod.node_name);
  into.app = std::move(pod.app);
  into.owner = std::move(pod.replica_of);
  into.prefers = kube::soft_preferences(object);
  into.tolerates = kube::soft_tolerations(object);
  into.cpu_request_cores = pod.cpu_request_cores;
  into.memory_request_bytes = pod.memory_request_bytes;
  into.daemonset = pod.daemonset;
  into.latency_soft_ms = pod.latency_soft_ms;
  into.latency_hard_ms = pod.latency_hard_ms;
  into.hold_ms = std::chrono::duration<double, std::milli>(kube::scheduling_hold(object)).count();
  into.latency_target = std::move(pod.latency_target);
  into.problems.insert(into.problems.end(), pod.problems.begin(), pod.problems.end());
  return std::move(pod.scheduler);
}

}  // namespace wattle::shim
