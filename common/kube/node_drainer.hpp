// node_drainer: reads from a v1.Node who else empties it or keeps it empty, so that Wattle leaves it alone.
// Source   spec.{unschedulable,taints}, status.conditions; kMarksAnnotation lists the cordon if Wattle has added it
// Gives    texts for people: "it is cordoned, not by Wattle", "Karpenter removes it (taint karpenter.sh/disrupted)"
// Limits   a drain of a node that Wattle has cordoned leaves no trace on the Node if it relies on that cordon
// Errors   none: values of another type are ignored
// Threads  pure
#pragma once

#include <string>
#include <string_view>

#include "common/json/value.hpp"

namespace wattle::kube {

inline constexpr std::string_view kMarksAnnotation = "wattle.dev/power-marks";
inline constexpr std::string_view kAutoscalerTaint = "ToBeDeletedByClusterAutoscaler";
inline constexpr std::string_view kSleepReason = "WattleSleep";  // of Wattle's conditions

struct NodeDrainer {
  std::string holds;    // it keeps the node empty, or removes it; empty: none
  std::string empties;  // it only moves the pods away, as Cluster Autoscaler does before Wattle puts the node to sleep
  bool operator==(const NodeDrainer&) const = default;
};

NodeDrainer read_drainer(const SortedJson& node);

}  // namespace wattle::kube
