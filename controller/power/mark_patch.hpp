// mark_patch: computes the strategic merge patches that put Wattle's marks on a Node and remove them.
// Source   a v1.Node as the API server returns it
// Marks    spec.unschedulable (the cordon), the taint kSleepTaint with the effect NoSchedule, and the label
//          kExcludeLabel, which keeps a sleeping node out of the count of a zone's failures. DaemonSets that do not
//          tolerate the taint do not count a marked node, and their rollouts do not wait for it
// Owners   kMarksAnnotation lists the cordon and the label if Wattle has added them. A cordon or label that was there
//          before is an operator's, and stays. So does Wattle's cordon of a node that another program has begun to
//          drain (node_drainer.hpp). The taint's key belongs to Wattle. kAutoscalerTaint is removed with it: Cluster
//          Autoscaler leaves it on a node that it lets sleep, because it expects the node to be deleted
// Once     the cordon is removed together with the taint that Kubernetes' node controller derives from it: the
//          scheduler tries a waiting pod as soon as the cordon is removed, and a remaining taint would delay the pod
// Precondition  the patches carry metadata.resourceVersion: the list of taints is replaced as a whole
// Errors   malformed: not a Node
// Threads  pure functions
#pragma once

#include <optional>
#include <string_view>

#include "common/json/value.hpp"
#include "common/kube/node_drainer.hpp"
#include "common/result.hpp"
#include "placement/sleep/power_state.hpp"

namespace wattle::controller::power {

inline constexpr std::string_view kSleepTaint = "wattle.dev/sleep";
inline constexpr std::string_view kCordonTaint = "node.kubernetes.io/unschedulable";
using kube::kAutoscalerTaint;
inline constexpr std::string_view kExcludeLabel = "node.kubernetes.io/exclude-disruption";
using kube::kMarksAnnotation;
inline constexpr std::string_view kStateAnnotation = "wattle.dev/power-state";
inline constexpr std::string_view kOperationAnnotation = "wattle.dev/power-operation";
inline constexpr std::string_view kSinceAnnotation = "wattle.dev/power-since";

// No value: the node has all marks, and the annotations of the record.
Result<std::optional<SortedJson>> patch_to_mark(const SortedJson& node,
                                                const placement::sleep::NodePowerRecord& record);
// Removes the annotations too. No value: the node has none of Wattle's marks.
Result<std::optional<SortedJson>> patch_to_unmark(const SortedJson& node);
// Needs no precondition. A node that is awake and carries no marks has no annotations either.
SortedJson patch_to_annotate(const placement::sleep::NodePowerRecord& record);

}  // namespace wattle::controller::power
