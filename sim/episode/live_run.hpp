// live_run: an episode of consolidation played in a World, by the controller's decision engine, which knows what agents and the API server told it.
// Told     of the fleet's watts, of demand, lives and of how many pods come: nothing but what telemetry and bindings have shown so far.
//          `cold` begins with nothing; warm begins with what an episode before it, of the same servers and applications, left behind: what
//          is known and what gates said, as a controller keeps both over a restart
// Binding  kube-scheduler's, through extender scores
// Errors   unknown policies; a LivePlayer's
// Threads  single owner; the same options give the same bytes
#pragma once

#include <string>
#include <vector>

#include "sim/episode/bench.hpp"
#include "sim/policies/contestant.hpp"
#include "sim/world/request_setter.hpp"

namespace wattle::sim::consolidation {

enum class SetWhat { nothing, cpu, cpu_and_memory };

struct LiveRunOptions {
  double telemetry_period_s = 5;
  placement::NetworkOptions network;
  SchedulerOptions scheduler;
  double defer_s = 0;  // a pod may be put off for at most so long, from when it came
  std::size_t look_ahead =
      0;  // so many next pods are told: those that wait, then those that come, as who submits a batch knows them
  // Of run_known and run_live: the controller's rule of requests is set, by sim/world/request_setter.
  SetWhat set_requests = SetWhat::nothing;
  std::size_t decision_window =
      0;  // likewise, where pairs disturb: decisions in a row of RunFigures::decisions; 0: none
};

// Who decides in a world, pod after pod.
class LivePlayer {
 public:
  virtual ~LivePlayer() = default;
  virtual WorldObserver* observer() = 0;
  virtual const placement::DecisionEngine& engine() const = 0;
  // What placements came to, before the next decision and at the end.
  virtual Status settled(std::vector<Settled> outcomes) = 0;
  // Absent: the pod fits nowhere. `decision_id` is that of its placement.
  virtual Result<std::optional<std::size_t>> choose(const World& world, const placement::ClusterView& view,
                                                    const SimPod& pod, std::uint64_t decision_id) = 0;
  // Before each choice: what it may look at, and for how long the pod may wait. Who does not listen decides without.
  virtual void ahead(const placement::Ahead& /*ahead*/) {}
  // Of the last choice, which named no node: the pod had better wait.
  virtual std::optional<placement::Deferral> deferred() const { return std::nullopt; }
};
struct LivePlayed {
  RunFigures figures;
  std::string known;  // what the engine has learned of the cluster
  KeptVerdicts verdicts;
};
// `requests`: who sets requests, begun anew here; null: nobody does.
Result<LivePlayed> play_live(const Episode& episode, LivePlayer& player, const placement::RewardConfig& reward,
                             const LiveRunOptions& options, RequestSetter* requests = nullptr);

// A contestant that knows what an earlier run left behind; empty: nothing.
Result<RunFigures> run_known(const Episode& episode, const std::string& known, const Contestant& contestant,
                             const LiveRunOptions& options);
// A contestant. `before`: the episode that teaches; null: cold.
Result<RunFigures> run_live(const Episode& episode, const Episode* before, const Contestant& contestant,
                            const LiveRunOptions& options);

}  // namespace wattle::sim::consolidation
