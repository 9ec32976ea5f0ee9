// placements: joins decisions to placements: where pods run, from agents, operators and the API server.
// Rules    a placement comes from an agent, an operator or the API server, never from the top score. Every binding
//          counts as a start on its node (StartWindow). The API server's word on where a pod is takes precedence, and a
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

  // An agent saw the pod's cgroup, or an operator confirmed. Returns false if the placement is known already or the
  // node is unknown.
  bool placed(const std::string& pod_uid, const std::string& node, bool by_operator);
  // A confirmed workload that ran there before the controller was restarted.
  bool resumed(const std::string& pod_uid, const std::string& node);
  void gone(const std::string& pod_uid, const std::string& node);

  // The API server has the pod, bound or not. `unschedulable`: its scheduler found no node for it. `nominated`: the
  // node on which the API server expects it, or empty.
  void described(const placement::PodSpec& pod, bool unschedulable = false, const std::string& nominated = {});
  // The API server shows the pod bound to a node. `followed`: the pod was bound just now; false if a list shows it, as
  // after a start.
  bool bound(const std::string& pod_uid, const std::string& node, bool followed);
  // The API server reports that the pod could not run or stay on its node; `how` is a kube::PodFailure.
  void failed(const std::string& pod_uid, std::string_view how);
  // The API server shows that the pod is being deleted. It may run until its grace period ends.
  void leaving(const std::string& pod_uid);
  // The API server has deleted the pod, or the pod has ended.
  void deleted(const std::string& pod_uid);
  // The pod is bound to a node without an agent.
  void elsewhere(const std::string& pod_uid);

  // A node sent its hello; restores its known curve.
  void greeted(const wire::Hello& hello);
  void expire(MonoTime now);
  // Adds pods that ran before the restart; they are recognised when they are seen again.
  void recall(const LoggedDecision& entry) { recalled_pods_.add(entry); }
  void recall(const PodFacts& pod) { recalled_pods_.add(pod); }

 private:
  enum class PlacementSource { by_agent, by_operator, by_binding, by_list, by_store };

  bool place(const std::string& pod_uid, const std::string& node, PlacementSource reported);
  // Decision `id` led to this placement; `begun` is the state before it.
  void join(std::uint64_t id, const placement::PodSpec& spec, const std::string& node, std::size_t row,
            placement::RawOutcome begun, MonoTime now);
  // Returns true if the pod was unknown and is restored from before the restart.
  bool recall_pod(const std::string& pod_uid, const std::string& node);
  // Makes an observed decision; returns 0 if there is none to make.
  std::uint64_t observe(placement::PodSpec pod, const std::string& node, MonoTime now);
  // The pod has stopped running.
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
