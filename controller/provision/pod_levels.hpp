// pod_levels: collects the actuation level that the pods of each node request by annotation from their node's
// wattle-actuator.
// Source   bound pods as the API server describes them
// Rules    a pod has limits or requests, not both: a pod whose requests were written by `wattle provision set` is not
//          reported as `limits`. Pods with `requests` or without an annotation are not reported, so that the node's own
//          level applies
// Bounds   actuation::kMaxWorkloads per node; further pods count as pods without an annotation
// Errors   none
// Threads  single owner
#pragma once

#include <map>
#include <string>
#include <unordered_map>

#include "common/kube/pod.hpp"

namespace wattle::controller {

class PodLevels {
 public:
  // Call again when the pod changes.
  void described(const kube::Pod& pod);
  void left(const std::string& uid);
  // Returns levels by UID, for wire::Ack.
  std::map<std::string, std::string> of(const std::string& node) const;

 private:
  std::unordered_map<std::string, std::map<std::string, std::string>> reported_;  // by node; no map is empty
  std::unordered_map<std::string, std::string> node_of_;                          // by UID
};

}  // namespace wattle::controller
