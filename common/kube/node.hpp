// node: the fields of a v1.Node that Wattle uses.
// Source   metadata.{uid,name,labels,annotations}, spec.{unschedulable,taints},
//          status.{allocatable,conditions,nodeInfo}
// Units    cores, bytes
// Errors   none: unreadable values keep their default and are listed in `problems`
// Threads  pure
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/json/value.hpp"
#include "common/kube/node_drainer.hpp"

namespace wattle::kube {

inline constexpr std::string_view kZoneLabel = "topology.kubernetes.io/zone";

struct Node {
  std::string uid, name;
  std::map<std::string, std::string> labels;
  double cpu_cores = 0;  // allocatable
  double memory_bytes = 0;
  std::uint64_t pod_capacity = 110;
  bool ready = false;  // condition Ready is True
  bool cordoned = false;
  NodeDrainer drainer;                   // another program that empties it
  std::vector<std::string> soft_taints;  // "key=value" of each taint with the effect PreferNoSchedule, sorted
  std::string kernel, kubelet;           // versions, for people
  std::vector<std::string> problems;
  // Value of the label kZoneLabel; empty if the node has none.
  std::string zone() const;
  bool operator==(const Node&) const = default;
};
inline const std::string& key_of(const Node& node) { return node.name; }

Node read_node(const SortedJson& object);

}  // namespace wattle::kube
