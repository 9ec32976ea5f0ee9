// placements: joins decisions to placements, that is to the nodes on which pods run.
// Rules    a placement comes from an agent, an operator or the API server, never from the top score. Every binding
//          counts as a start on its node (StartWindow). The API server takes precedence on where a pod is, and a
//          pod that it shows bound without an ask becomes an observed decision
// Threads  single owner
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "controller/decisions/asks.hpp"
#include "controller/decisions/decision_core.hpp"
#include "controller/decisions/outcomes.hpp"
#include "controller/decisions/recalled_pods.hpp"

namespace wattle::controller {

class Placements {
 public:
  Placements(DecisionCore& core, Asks& asks, Outcomes& outcomes, ClusterState& state, DecisionSink& sink,
             const Clock& clock)
      : core_(core), asks_(asks), outcomes_(outcomes), state_(state), sink_(sink), clock_(clock) {}

  // Records a placement that an agent saw as a cgroup, or that an operator confirmed. Returns false if the placement is
  //          known already or the
  // node is unknown.
  bool placed(const std::string& pod_uid, const std::string& node, bool by_operator);
  // Restores a confirmed workload that ran there before the controller was restarted.
  bool resumed(const std::string& pod_uid, const std::string& node);
  void gone(const std::string& pod_uid, const std::string& node);

  // Records a pod of the API server, bound or not. `unschedulable`: its scheduler found no node for it. `nominated`:
  // the node on which the API server expects it, or empty.
  void described(const placement::PodSpec& pod, bool unschedulable = false, const std::string& nominated = {});
  // Records that the API server shows the pod as bound to a node. `followed`: the pod was bound just now; false if a
  // list shows it, as after a start.
  bool bound(const std::string& pod_uid, const std::string& node, bool followed);
  // Records that the pod could not run or stay on its node; `how` is a kube::PodFailure.
  void failed(const std::string& pod_uid, std::string_view how);
  // Records that the pod is being deleted. It may run until its grace period ends.
  void leaving(const std::string& pod_uid);
  // Records that the API server deleted the pod, or that the pod ended.
  void deleted(const std::string& pod_uid);
  // Records that the pod is bound to a node without an agent.
  void elsewhere(const std::string& pod_uid);

  // Records a node's Hello and restores its known curve.
  void greeted(const wire::Hello& hello);
  void expire(MonoTime now);
  // Adds pods that ran before the restart; they are recognised when they are seen again.
  void recall(const LoggedDecision& entry) { recalled_pods_.add(entry); }
  void recall(const PodFacts& pod) { recalled_pods_.add(pod); }

 private:
  enum class PlacementSource { by_agent, by_operator, by_binding, by_list, by_store };

  bool place(const std::string& pod_uid, const std::string& node, PlacementSource reported);
  // Joins decision `id` to its placement; `begun` is the state before it.
  void join(std::uint64_t id, const placement::PodSpec& spec, const std::string& node, std::size_t row,
            placement::RawOutcome begun, MonoTime now);
  // Returns true if the pod was unknown and is restored from before the restart.
  bool recall_pod(const std::string& pod_uid, const std::string& node);
  // Makes an observed decision; returns 0 if there is none to make.
  std::uint64_t observe(placement::PodSpec pod, const std::string& node, MonoTime now);
  // Records that the pod stopped running.
  void left(const std::string& pod_uid, MonoTime now);

  DecisionCore& core_;
  Asks& asks_;
  Outcomes& outcomes_;
  ClusterState& state_;
  DecisionSink& sink_;
  const Clock& clock_;
  RecalledPods recalled_pods_;
  MonoTime state_expired_{};
};

}  // namespace wattle::controller
