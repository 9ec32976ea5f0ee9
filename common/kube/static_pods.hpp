// static_pods: decides which pod of an API server gets the UID that a kubelet gave to its static pod.
// Source   the annotation kubernetes.io/config.mirror: a kubelet shows a static pod to the API server as a mirror pod,
//          whose annotation holds the UID that the node's cgroups use. Every user who may create pods can write the
//          annotation, too
// Rules    the annotation counts only if the pod's controller is the Node that spec.nodeName names, by name and UID,
//          and the pod is not marked as coming from the API server. A mirror pod never gets a UID that the API server
//          gave to a pod, now or earlier. A UID of a former mirror pod, or one that recall() names, is given to no pod
//          of another namespace. If several mirror pods claim one UID, the pod that was created first gets it
// Bounds   remembers kFormerUids UIDs of deleted pods, and as many recalled ones
// Errors   none; a mirror pod whose annotation does not count keeps its UID from the API server
// Threads  single owner
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "common/kube/copy.hpp"

namespace wattle::kube {

inline constexpr std::size_t kFormerUids = 65'536;

// Changes of pods, by the UID under which each is known.
struct ResolvedPods {
  std::vector<std::string> released;  // UIDs that belonged to another pod before; first forget their records
  std::vector<Change<Pod>> pods;
};

class StaticPods {
 public:
  // Records that a pod of this namespace had the UID. For pods from before this process started, call it
  // before the first resolve(), newest pods first.
  void recall(const std::string& uid, const std::string& pod_namespace);
  // `pods` have the UIDs of the API server.
  ResolvedPods resolve(const std::vector<Change<Node>>& nodes, std::vector<Change<Pod>> pods);

 private:
  using PodPointer = std::shared_ptr<const Pod>;
  struct Mirror {
    PodPointer pod;
    bool granted = false;  // is known by the UID that it claims
    bool shown = false;    // was returned before, under either UID
  };
  std::set<std::string> learn(const std::vector<Change<Node>>& nodes);  // returns the claimed UIDs that this affects
  void remember(const std::string& former);
  std::string holder(const std::string& claimed) const;  // UID of a mirror pod; empty: none
  void grant(const std::string& claimed, std::set<std::string>& changed, ResolvedPods& out);

  std::unordered_map<std::string, std::string> node_uids_;                       // keyed by name
  std::unordered_set<std::string> given_;                                        // UIDs from the API server
  std::unordered_set<std::string> former_;                                       // UIDs of deleted pods
  std::deque<std::string> former_in_order_;                                      // the same, oldest first
  std::unordered_map<std::string, std::string> recalled_;                        // UID -> namespace
  std::map<std::string, Mirror> mirrors_;                                        // keyed by the API server's UID
  std::map<std::string, std::set<std::pair<std::string, std::string>>> claims_;  // claimed UID -> (created, UID)
};

}  // namespace wattle::kube
