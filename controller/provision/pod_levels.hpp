// pod_levels: which pods of each node say by annotation at which level their node's wattle-actuator is to have them.
// Source   bound pods as the API server describes them
// Rules    of limits and requests a pod has one: whose requests `wattle provision set` has written is not told as `limits`. What says
//          `requests`, or nothing, is not told: the node's own level holds
// Bounds   actuation::kMaxWorkloads a node; others are as if they said nothing
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
  // Again when it changes.
  void described(const kube::Pod& pod);
  void left(const std::string& uid);
  // By UID, as wire::Ack has it.
  std::map<std::string, std::string> of(const std::string& node) const;

 private:
  std::unordered_map<std::string, std::map<std::string, std::string>> told_;  // by node; none is empty
  std::unordered_map<std::string, std::string> node_of_;                      // by UID
};

}  // namespace wattle::controller
