// static_pods: decides which pod of an API server goes by the UID that a kubelet gave its static pod.
// Source   the annotation kubernetes.io/config.mirror: a kubelet shows a static pod to the API server as a mirror pod, and names in it the
//          UID by which the node's cgroups know the pod. Every user who may create pods can write the annotation too
// Rules    the annotation counts only if the pod's controller is the Node that spec.nodeName names, by name and by UID, and the pod is not
//          marked as coming from the API server. A UID that the API server gave to a pod, now or earlier, is never given to a mirror pod,
//          and a UID that recall() names is given to none of another namespace.
//          If several mirror pods name one UID, the pod that was created first has it
// Bounds   kFormerUids UIDs of pods that are gone are remembered, and as many that are recalled
// Errors   none: a mirror pod whose annotation does not count keeps the UID that the API server gave it
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

// Changes of pods, by the UID that each goes by.
struct ResolvedPods {
  std::vector<std::string> released;  // UIDs that another pod went by before; first forget what was said of them
  std::vector<Change<Pod>> pods;
};

class StaticPods {
 public:
  // A pod of this namespace went by the UID before this process started. Call before the first resolve(), newest pods first.
  void recall(const std::string& uid, const std::string& pod_namespace);
  // Takes changes by the UIDs of the API server.
  ResolvedPods resolve(const std::vector<Change<Node>>& nodes, std::vector<Change<Pod>> pods);

 private:
  using PodPointer = std::shared_ptr<const Pod>;
  struct Mirror {
    PodPointer pod;
    bool granted = false;  // goes by the UID that it claims
    bool shown = false;    // handed on before, by that UID or its own
  };
  std::set<std::string> learn(const std::vector<Change<Node>>& nodes);  // claimed UIDs that this concerns
  void remember(const std::string& former);
  std::string holder(const std::string& claimed) const;  // UID of a mirror pod; empty: none
  void grant(const std::string& claimed, std::set<std::string>& changed, ResolvedPods& out);

  std::unordered_map<std::string, std::string> node_uids_;                       // by name
  std::unordered_set<std::string> given_;                                        // by the API server
  std::unordered_set<std::string> former_;                                       // of pods that are gone
  std::deque<std::string> former_in_order_;                                      // the same, oldest first
  std::unordered_map<std::string, std::string> recalled_;                        // UID -> namespace
  std::map<std::string, Mirror> mirrors_;                                        // by the API server's UID
  std::map<std::string, std::set<std::pair<std::string, std::string>>> claims_;  // claimed UID -> (created, UID)
};

}  // namespace wattle::kube
