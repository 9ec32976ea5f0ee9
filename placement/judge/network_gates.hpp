// network_gates: decides, by copies of the cluster, which ranking may serve. Each choice fills the copies
// (placement/judge/paired_simulation), and a test decides which side's copy costs more.
// Network  network against plan: while the network costs more, its policy uses the prior alone, which is the plan's
//          choice
// Learned  candidate against baseline: the network learned on this cluster serves in place of the initial network while
//          its choices cost less
// Units    shares of predicted joules; seconds of the view's clock
// Errors   none
// Threads  single owner
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "common/stats/network_trial.hpp"
#include "placement/cluster/cluster_model.hpp"
#include "placement/judge/paired_simulation.hpp"
#include "placement/judge/recent_blocks.hpp"
#include "placement/plan/planner.hpp"

namespace wattle::placement {

struct NetworkGatesOptions {
  bool require_evidence = false;  // a network without evidence serves only after it has been shown to be ahead
  bool measured = false;      // measured blocks decide (candidate_trials), so that a network needs less evidence here
  double margin = 0;          // as in the policy that the network serves
  std::size_t shortlist = 0;  // as in that policy
};

// A comparison on copies of the cluster, and its verdict.
struct ChoiceGate {
  stats::NetworkTrial test;
  PairedSimulation copies;
  // Used for these copies only. Each plan starts from the previous one, so copies that shared a planner would affect
  // each other.
  Planner planner{PlannerOptions{}};
  std::string why;  // of the last verdict, with its figures; empty before the first comparison
  RecentBlocks recent;
};

struct GateNews {
  bool of_learned = false;  // true: candidate against baseline; false: network against plan
  bool gated = false;
  std::string why;
};

// A pod to place, and the cluster as the policies see it.
struct GateQuestion {
  const ClusterView& view;
  const PodSpec& pod;
  std::span<const std::size_t> rows;  // candidates, ascending, without duplicates
  ClusterModel& model;
  const MaskOptions& mask;
  const RewardConfig& reward;
};

class NetworkGates {
 public:
  explicit NetworkGates(NetworkGatesOptions options);

  // Sets the maker of plans, which outlives the gates. Null: each comparison waits for its own plan.
  void plan_with(PlanMaker* maker);
  // Sets the function that is called when a gate changes its verdict.
  void on_verdict(std::function<void(const GateNews&)> verdict) { on_verdict_ = std::move(verdict); }

  // The pod `key` runs in that row of the view. `now_s` is on the view's clock.
  void on_pod_started(std::uint64_t key, std::size_t row, const PodEstimate& ask, double now_s);
  // `row` and `ask`: where it ran, if known, and as what.
  void on_pod_ended(std::uint64_t key, std::optional<std::size_t> row, const PodEstimate* ask, double now_s);

  // Compares the network's choice for the pod with the planner's. Returns true if the verdict changed. `learned`: the
  // network was learned on this cluster, so the gate's certificate does not cover it. Recent figures cover only one of
  // the two.
  bool compare(const GateQuestion& question, const models::QNetwork& network, bool learned);
  // Compares the choice of the candidate network with that of the baseline. Returns true if the verdict changed.
  bool compare_learned(const GateQuestion& question, const models::QNetwork& learned, const models::QNetwork& baseline);

  // Restarts both gates for a new network. `certificate`: the evidence for it; if empty, the network must first be
  // shown to be ahead where the options require evidence.
  void reset(const std::string& why, const std::string& certificate = {});
  // Restarts the comparison of the candidate after a change of the baseline.
  void reset_learned();

  // True while the network may not serve. Verdicts apply only where the policy has a network (decision_engine).
  bool network_gated() const { return !plan_gate_.test.in_use(); }
  // True while the baseline serves in place of the candidate.
  bool learned_gated() const { return !learned_gate_.test.in_use(); }
  const std::string& why() const { return plan_gate_.why; }
  const stats::NetworkTrial& network_test() const { return plan_gate_.test; }
  const stats::NetworkTrial& learned_test() const { return learned_gate_.test; }
  // Recent comparisons of the serving network with the plan, and of the candidate with its baseline.
  const RecentBlocks& recent() const { return plan_gate_.recent; }
  const RecentBlocks& recent_learned() const { return learned_gate_.recent; }
  bool recent_is_of_learned() const { return recent_of_learned_; }

  // Restores the state from before a restart. Returns false and changes nothing if it is not valid.
  bool restore(const stats::SavedTrial& state, std::string why);
  bool restore_learned(const stats::SavedTrial& state) { return learned_gate_.test.restore(state); }
  void restore_recent(const RecentBlocks& recent, bool of_learned);
  void restore_recent_learned(const RecentBlocks& recent) { learned_gate_.recent = recent; }

 private:
  bool contend(ChoiceGate& gate, const GateQuestion& question, const models::QNetwork& challenger,
               const models::QNetwork* incumbent);
  std::array<PairedSimulation*, 2> copies() { return {&plan_gate_.copies, &learned_gate_.copies}; }

  NetworkGatesOptions options_;
  ChoiceGate plan_gate_, learned_gate_;
  bool recent_of_learned_ = false;
  std::string certificate_;  // of the network under comparison; empty: none, or restored after a restart
  std::function<void(const GateNews&)> on_verdict_;
};

// Identifies a pod on the copies.
std::uint64_t pod_key(const std::string& uid);

}  // namespace wattle::placement
