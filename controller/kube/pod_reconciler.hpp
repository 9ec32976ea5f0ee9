// pod_reconciler: applies an API server's nodes and pods to the state and the decisions.
// Rules    a node counts once its agent has said Hello; pods bound to other nodes wait for that. A pod that a list
//          shows bound was bound earlier: it is requested but not learned from. Ended pods free their resources even if
//          their object stays. Failures go to the outcome. A pod has the UID that kube::StaticPods resolves
// Errors   none
// Threads  the loop's
#pragma once

#include <functional>
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

class PodReconciler {
 public:
  PodReconciler(ClusterState& state, Decider& decider, Shims& shims, const Clock& clock)
      : state_(state), decider_(decider), shims_(shims), clock_(clock) {}
  // Reports that a pod of this namespace had the UID before the controller started (kube::StaticPods::recall).
  void recall(const std::string& uid, const std::string& pod_namespace) { static_pods_.recall(uid, pod_namespace); }
  // Applies changes of nodes and pods; pods have the API server's UIDs. Returns true if a node changed.
  bool take(std::vector<kube::Change<kube::Node>> nodes, std::vector<kube::Change<kube::Pod>> pods);
  // Called for each pod that is bound to a known node, and again when it changes.
  void on_bound(std::function<void(const kube::Pod&)> reported) { reported_ = std::move(reported); }
  // Called for each pod without a node or on a node without an agent, and again when it changes.
  void on_elsewhere(std::function<void(const kube::Pod&)> reported) { elsewhere_ = std::move(reported); }
  // Called with the UID of each pod that ended, was deleted or has another UID now.
  void on_gone(std::function<void(const std::string&)> reported) { gone_ = std::move(reported); }
  // The node's agent said Hello.
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
  const Clock& clock_;
  std::function<void(const kube::Pod&)> reported_, elsewhere_;
  std::function<void(const std::string&)> gone_;
  std::map<std::string, std::shared_ptr<const kube::Node>> nodes_;
  std::map<std::string, std::map<std::string, PodPointer>> waiting_;  // node that no agent speaks for -> UID -> pod
  std::unordered_map<std::string, std::string> waits_at_;             // UID -> that node
};

}  // namespace wattle::controller
