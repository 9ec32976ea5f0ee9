// live_run: runs an episode of consolidation in a World with the controller's decision engine, which sees only the
// reports of agents and the API server.
// Truth    with the knowledge `truth` the engine knows the nodes' real curves, and each pod's mean demand and life
// Known    watts, demand, lifetimes and the number of coming pods only as far as telemetry and bindings have shown
//          them. `cold` begins without knowledge. Warm begins with the result of an earlier episode of the same servers
//          and applications: knowledge and measured evidence, as a controller keeps them over a restart
// Binding  kube-scheduler's, through extender scores
// Errors   unknown policies; a LivePlayer's
// Threads  single owner; the same options give the same bytes
#pragma once

#include <string>
#include <vector>

#include "lab/bench/bench.hpp"
#include "sim/policies/contestant.hpp"
#include "sim/world/request_setter.hpp"

namespace wattle::sim::consolidation {

enum class SetWhat { nothing, cpu, cpu_and_memory, projected };  // projected: sets nothing

struct LiveRunOptions {
  double telemetry_period_s = 5;
  placement::NetworkOptions network;
  std::int64_t extender_weight = kExtenderWeight;
  double defer_s = 0;  // longest deferral of a pod, from its arrival
  // Number of next pods made known: those that wait, then those that will come, as the sender of a batch knows them.
  std::size_t look_ahead = 0;
  // For run_live: sets requests by the controller's rule (sim/world/request_setter).
  SetWhat set_requests = SetWhat::nothing;
};

// Decides in a world, pod after pod.
class LivePlayer {
 public:
  virtual ~LivePlayer() = default;
  virtual WorldObserver* observer() = 0;
  virtual const placement::DecisionEngine& engine() const = 0;
  // Receives the outcomes of placements, before the next decision and at the end. Optional.
  virtual Status settled(std::vector<Settled> /*outcomes*/) { return {}; }
  // Chooses a node; no value if the pod fits nowhere. `decision_id` identifies its placement.
  virtual Result<std::optional<std::size_t>> choose(const World& world, const placement::ClusterView& view,
                                                    const SimPod& pod, std::uint64_t decision_id) = 0;
  // Receives, before each choice, the next pods and the permission to wait. Optional.
  virtual void ahead(const placement::Ahead& /*ahead*/) {}
  // Returns the deferral of the last choice, if it named no node because the pod should wait.
  virtual std::optional<placement::Deferral> deferred() const { return std::nullopt; }
};
struct LivePlayed {
  RunFigures figures;
  std::string known;  // the engine's cluster model
  placement::CandidateTrials::State candidates;
};
// `requests`: sets requests and is restarted here; null: requests stay.
Result<LivePlayed> play_live(const Episode& episode, LivePlayer& player, const placement::RewardConfig& reward,
                             const LiveRunOptions& options, RequestSetter* requests = nullptr);

// Runs a fill with the pods in the placement from the start.
Result<RunFigures> hold(const Episode& episode, const Placement& placement);

// Runs a contestant. `before`: the episode to learn from first; null: cold.
Result<RunFigures> run_live(const Episode& episode, const Episode* before, const Contestant& contestant,
                            const LiveRunOptions& options);

}  // namespace wattle::sim::consolidation
