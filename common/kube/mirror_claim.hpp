// mirror_claim: the static pod that a pod object claims to mirror.
// Source   metadata.{annotations,creationTimestamp,ownerReferences}, spec.nodeName
// Rules    the annotation kubernetes.io/config.mirror counts only if the pod's controller is the Node that
//          spec.nodeName names and the pod is not marked as coming from the API server. Users can write all of these
//          fields: static_pods.hpp decides which claims are granted
// Errors   none: a claim that does not count is empty
// Threads  pure
#pragma once

#include <string>

#include "common/json/value.hpp"

namespace wattle::kube {

struct MirrorClaim {
  std::string uid;       // UID that the kubelet gave the static pod, as in its cgroup's name; empty: no claim
  std::string node_uid;  // UID of the Node that controls the pod
  std::string created;   // metadata.creationTimestamp
  bool operator==(const MirrorClaim&) const = default;
};
MirrorClaim read_mirror_claim(const SortedJson& pod);

// Returns whether the pod's controller is the Node to which it is bound. It is then a static pod, not placed by a
// scheduler.
bool is_controlled_by_its_node(const SortedJson& pod);

}  // namespace wattle::kube
