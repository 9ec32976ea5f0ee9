// pod_hold: the reason why a pod must stay on its node, for a caller that wants to empty the node.
// Source   the annotations safe-to-evict and safe-to-evict-local-volumes of Cluster Autoscaler, and do-not-disrupt of
//          Karpenter; metadata.ownerReferences; spec.{volumes,resourceClaims,affinity,topologySpreadConstraints}; the
//          containers' ports and resources
// Rules    If safe-to-evict is set, only it decides. Otherwise a pod holds its node if it asks not to be disrupted, has
//          no controller that would replace it, or has a volume that exists on its node only: hostPath, or emptyDir on
//          disk. A claim holds too, because the pod does not show whether its volume is local. So does a constraint
//          other than node terms, CPU and memory: the caller cannot know whether another node would satisfy it
// Errors   none: values of another type are ignored
// Threads  pure
#pragma once

#include <cstdint>

#include "common/json/value.hpp"

namespace wattle::kube {

enum class PodHold : std::uint8_t {
  none,
  undisruptable,  // an annotation forbids it
  bare,           // no controller would replace it
  local_volume,   // a volume that may exist on its node only
  constrained     // a device, a host port, hard affinity or anti-affinity to pods, or hard topology spread
};

// Do not call it for pods of DaemonSets and static pods.
PodHold read_pod_hold(const SortedJson& pod);

}  // namespace wattle::kube
