// pod_reconciler: applies an API server's nodes and pods to the state and the decisions.
// Rules    a node counts once its agent has sent its hello; pods bound to other nodes wait for that. A pod that a list
//          shows as bound was bound earlier: its request counts, but nothing is learned from it. Ended pods free their
//          resources even if the object remains. Failures go to the outcome. A pod has the UID that kube::StaticPods
//          resolves
// Errors   none
// Threads  the loop's
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/kube/copy.hpp"
#include "common/kube/static_pods.hpp"
#include "controller/decisions/decider.hpp"
#include "controller/state/cluster_state.hpp"
#include "controller/state/shims.hpp"

namespace wattle::controller {

// Receives the pods of an API server before they reach the decisions. The base class ignores them.
class PodSink {
 public:
  virtual ~PodSink() = default;
  // Called when the pod is bound to a known node, or changes there.
  virtual void on_bound(const kube::Pod& /*pod*/) {}
  // Called when the pod has no node or one without an agent, or changes there.
  virtual void on_elsewhere(const kube::Pod& /*pod*/) {}
  // Called when the pod ended, was deleted or got another UID.
  virtual void on_gone(const std::string& /*uid*/) {}
};

class PodReconciler {
 public:
  PodReconciler(ClusterState& state, Decider& decider, Shims& shims, PodSink& sink, const Clock& clock)
      : state_(state), decider_(decider), shims_(shims), sink_(sink), clock_(clock) {}
  // Reports that a pod of this namespace had the UID before the controller started (kube::StaticPods::recall).
  void recall(const std::string& uid, const std::string& pod_namespace) { static_pods_.recall(uid, pod_namespace); }
  // Applies changes of nodes and pods; pods have the API server's UIDs. Returns true if a node changed.
  bool take(std::vector<kube::Change<kube::Node>> nodes, std::vector<kube::Change<kube::Pod>> pods);
  // Call when the node's agent has sent its Hello.
  void greeted(const std::string& node);

 private:
  using PodPointer = std::shared_ptr<const kube::Pod>;
  void count_binding(const kube::Pod& pod);
  void put(const PodPointer& pod, bool followed);
  void leave_waiting(const std::string& uid);
  void release(const std::string& uid);

  kube::StaticPods static_pods_;
  ClusterState& state_;
  Decider& decider_;
  Shims& shims_;
  PodSink& sink_;
  const Clock& clock_;
  std::map<std::string, std::shared_ptr<const kube::Node>> nodes_;
  std::map<std::string, std::map<std::string, PodPointer>> waiting_;  // node without an agent -> UID -> pod
  std::unordered_map<std::string, std::string> waits_at_;             // UID -> that node
};

}  // namespace wattle::controller
