// preferences: what a v1.Pod prefers without requiring it, read like kube-scheduler's score plugins.
// Source   spec.affinity.{nodeAffinity,podAffinity,podAntiAffinity}.preferredDuringSchedulingIgnoredDuringExecution,
//          spec.{topologySpreadConstraints,tolerations,subdomain}, metadata.{labels,ownerReferences}
// Rules    a pod with labels but without spread constraints counts as spread by default, because its Services and
//          owners are not part of the pod. Pods of DaemonSets and nodes do not, and neither do those of Jobs without a
//          subdomain
// Errors   none: values of another type are ignored
// Threads  pure
#pragma once

#include <string>
#include <vector>

#include "common/json/value.hpp"

namespace wattle::kube {

// "node affinity", "pod affinity", "pod anti-affinity", "topology spread", "default topology spread".
std::vector<std::string> soft_preferences(const SortedJson& pod);

// Tolerations of PreferNoSchedule taints: "key=value", "key" for any value, "*" for all.
std::vector<std::string> soft_tolerations(const SortedJson& pod);

}  // namespace wattle::kube
