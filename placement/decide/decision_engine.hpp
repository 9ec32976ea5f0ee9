// decision_engine: combines a policy, the cluster model and the gates on the network. It makes all decisions, live and
// simulated.
// Input    which pods run where, their usage and their ends (came, used, left), and the view about once a second
//          (refresh)
// Gates    each choice fills copies of the cluster (placement/judge/paired_simulation), and a sequential test decides which
//          side's copy costs more. Plan or network: while the network costs more, the policy uses the prior alone,
//          which is the plan's choice. Baseline or candidate: the network learned here serves in place of the initial
//          network while its choices cost less. Both apply to the policy "dqn" and rewards with energy only
// Plan     a third comparison, where pods come and go: the plan against each pod's own cost. The plan is followed while
//          it is ahead (placement/plan/plan_record)
// Shadow   if the scheduler does not follow the advice, advice accumulates on a copy of the cluster
//          (placement/judge/advised_cluster), and the saving from acting is modelled (placement/judge/modelled_saving)
// Record   decide() fills all of it except id, wall_ns, mode, model_step and decide_us
// Errors   take: not_found, and the engine stays as it was
// Threads  single owner
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/result.hpp"
#include "placement/cluster/cluster_model.hpp"
#include "placement/cluster/row_index.hpp"
#include "placement/decide/decide.hpp"
#include "placement/decide/policies/kube_scoring.hpp"
#include "placement/decide/policies/network.hpp"
#include "placement/decide/policies/policy.hpp"
#include "placement/judge/advised_cluster.hpp"
#include "placement/judge/compared_energy.hpp"
#include "placement/judge/modelled_saving.hpp"
#include "placement/judge/paired_simulation.hpp"
#include "placement/judge/recent_blocks.hpp"
#include "placement/judge/sequential_test.hpp"
#include "placement/plan/plan_record.hpp"
#include "placement/plan/planner.hpp"

namespace wattle::placement {

struct EngineOptions {
  DecideOptions decide;           // its reward is the one last given to take()
  bool require_evidence = false;  // a network without evidence serves only after it has been shown to be ahead
  NetworkOptions network;         // its gate belongs to this class
  AdvisedOptions advised;
  ModelledOptions modelled;
};

// A comparison on copies of the cluster, and its verdict.
struct ChoiceGate {
  SequentialTest test;
  PairedSimulation copies;
  // Used for these copies only. Each plan starts from the previous one, so copies that shared a planner would affect
  // each other.
  Planner planner{PlannerOptions{}};
  std::string why;  // of the last verdict, with the figures that it rests on; empty where nothing has been judged
  RecentBlocks recent;
};

struct GateNews {
  bool of_learned = false;  // true: candidate against baseline; false: network against plan
  bool gated = false;
  std::string why;
};

class DecisionEngine {
 public:
  explicit DecisionEngine(EngineOptions options, ClusterModel knowledge = ClusterModel());

  // Sets policy and reward from the next decision on. Returns true if the ranking changed; the gate then restarts.
  Result<bool> take(const std::string& policy, const RewardConfig& reward);
  // Sets the maker of plans, which outlives the engine. Null: each decision waits for its own plan.
  void plan_with(PlanMaker* maker);
  // Sets the function that is called when a gate changes its verdict.
  void on_gate(std::function<void(const GateNews&)> told) { gate_told_ = std::move(told); }

  // Returns the pod with its predicted demand and life. Pass the result to the view and to decide().
  PodSpec expected(PodSpec pod) const;
  // `network` serves the policy; it is ignored while it is gated. `rows`: rows of the candidates, if index() has just
  // found them.
  PlacementDecision decide(const ClusterView& view, const PodSpec& pod, std::vector<std::string> candidates,
                           const models::QNetwork* network, double epsilon, std::uint64_t turn, std::mt19937_64& random,
                           std::span<const std::size_t> rows = {}, const Ahead& ahead = {});
  // Sets whether the advice is only recorded. The modelled saving continues if the mode stays the same and the second
  // argument is false; otherwise it restarts.
  void set_shadow(bool on, bool anew);
  // Sets the canary block without followed advice; its advice accumulates on a copy that starts with the block. No
  // value: no such block is active.
  void set_control(std::optional<std::uint64_t> block);
  // Energy since that block began; no value if none is active.
  std::optional<ComparedEnergy> compared() const { return control_ ? std::optional(compared_) : std::nullopt; }
  // Decides on the copy: this is the advice in shadow mode and in a control block. No value if the copy equals the
  // cluster. Learning needs the result of decide(), because the pod goes to the real cluster.
  std::optional<PlacementDecision> decide_on_copy(const ClusterView& view, const PodSpec& pod,
                                                  const std::vector<std::string>& candidates,
                                                  const models::QNetwork* network, double epsilon, std::uint64_t turn,
                                                  std::mt19937_64& random, std::span<const std::size_t> rows = {},
                                                  const Ahead& ahead = {});
  // Returns the advice for a pod under the given rewards on the current cluster. Excludes the pod's own load if it
  // already runs in `row`. Does not explore, reserve or learn. `network`: null for other rewards than its own.
  PlacementDecision what_if(const ClusterView& view, const PodSpec& pod, std::vector<std::string> candidates,
                            const models::QNetwork* network, const RewardConfig& reward, std::optional<std::size_t> row,
                            std::uint64_t turn);
  // Reserves the advised node on the copy until the pod ends; in shadow mode.
  void reserve(const PodSpec& pod, const PlacementDecision& advice, MonoTime now, Duration hold = Duration::zero());
  // The pod is known to the API server: expects it until it runs or is withdrawn.
  void keep(const std::string& uid) { advised_.keep(uid); }
  // Restores a pod that was advised before a restart and runs.
  void reserve_again(const PodSpec& pod, AdvisedCluster::Place advised, AdvisedCluster::Place runs, MonoTime now);
  // The pod no longer waits, or is requested again.
  void withdraw(const std::string& uid) { advised_.withdraw(uid); }
  // Null outside shadow mode.
  const ModelledSaving* saving() const { return shadow_ ? &saving_ : nullptr; }
  bool restore_saving(const ModelledState& state) { return shadow_ && saving_.restore(state); }

  // Returns the policy's own values from the scheduler's cache of all nodes. Only the values of `feasible` nodes are
  // meaningful.
  std::vector<double> values(const ClusterView& view, const PodSpec& pod, std::span<const std::size_t> feasible,
                             std::span<const KubeNode> scheduler, std::uint64_t turn);
  // Inputs for scores that belong to no pod.
  PolicyInputs mind(const models::QNetwork* network) {
    return {*policy_, usable(network), &knowledge_, &index_, {}, options_.network.shortlist, nullptr, {}, gated_why()};
  }

  // The pod runs on the node in that row of the view. DaemonSet pods are not learned from.
  PodHandle came(const PodSpec& pod, const std::string& node, std::size_t row, MonoTime now);
  void used(std::span<const PodReading> readings, double interval_s) {
    knowledge_.used(readings, interval_s);
    if (!copying()) return;
    for (const PodReading& each : readings) learned_of(each.pod);
  }
  // The pod ended; `row` is where it ran, if known.
  void left(const std::string& uid, const PodSpec* pod, std::optional<std::size_t> row, MonoTime now);
  // Updates the cluster model and the plans from the view.
  const Fleet& refresh(const ClusterView& view);

  // Returns whether policy and reward allow a comparison of networks with the planner; the second form also checks the
  // pod.
  bool network_gate_applies() const;
  bool network_gate_applies(const PodSpec& pod) const;
  // Compares the network's choice for the pod with the planner's. Returns true if the verdict changed. `learned`: the
  // network was learned here, so the gate's certificate does not cover it. Recent figures cover only one of the two.
  bool compare(const ClusterView& view, const PodSpec& pod, std::span<const std::string> candidates,
               const models::QNetwork& network, bool learned = false);
  // Compares the choice of the candidate network with that of the baseline. Returns true if the verdict changed.
  bool compare_learned(const ClusterView& view, const PodSpec& pod, std::span<const std::string> candidates,
                       const models::QNetwork& learned, const models::QNetwork& trusted);
  // Compares the plan's choice for the pod with that of the amortised rank, on separate copies, to decide whether to
  // follow the plan.
  void try_plan(const ClusterView& view, const PodSpec& pod, std::span<const std::string> candidates);
  const PlanRecord& plan_record() const { return plan_record_; }
  bool restore_plan_record(const PlanRecord::State& state);
  // Restarts the gate for a new network. `certificate`: the evidence for it; if empty, the network must first be shown
  // to be ahead where the options require evidence.
  void begin_gate_anew(const std::string& why, const std::string& certificate = {});
  // Restarts the comparison of the candidate after a change of the baseline.
  void begin_learned_anew();
  bool restore_gate(const SequentialTestState& state, std::string why);
  bool restore_learned_gate(const SequentialTestState& state) { return learned_gate_.test.restore(state); }
  // Recent comparisons of the serving network with the plan, and of the network learned here with its baseline.
  const RecentBlocks& recent() const { return plan_gate_.recent; }
  const RecentBlocks& recent_learned() const { return learned_gate_.recent; }
  bool recent_is_of_learned() const { return recent_of_learned_; }
  void restore_recent(const RecentBlocks& recent, bool of_learned) {
    plan_gate_.recent = recent;
    recent_of_learned_ = of_learned;
  }
  void restore_recent_learned(const RecentBlocks& recent) { learned_gate_.recent = recent; }
  bool gated() const { return plan_gate_.test.network_gated() && network_gate_applies(); }
  // Reason; empty if not gated.
  const std::string& gated_why() const { return gated() ? plan_gate_.why : none_; }
  const std::string& gate_why() const { return plan_gate_.why; }
  // Returns whether the baseline serves in place of the candidate.
  bool learned_gated() const { return network_gate_applies() && learned_gate_.test.network_gated(); }
  const SequentialTest& network_gate() const { return plan_gate_.test; }
  const SequentialTest& learned_network_gate() const { return learned_gate_.test; }
  const models::QNetwork* usable(const models::QNetwork* network) const { return gated() ? nullptr : network; }

  const PolicyInfo& policy() const { return policy_->info(); }
  const DecideOptions& options() const { return options_.decide; }
  ClusterModel& knowledge() { return knowledge_; }
  const ClusterModel& knowledge() const { return knowledge_; }
  RowIndex& index() { return index_; }

 private:
  bool contend(ChoiceGate& gate, const ClusterView& view, const PodSpec& pod, std::span<const std::string> candidates,
               const models::QNetwork& challenger, const models::QNetwork* incumbent);
  std::array<PairedSimulation*, 3> copies_of_the_cluster() {
    return {&plan_gate_.copies, &learned_gate_.copies, &plan_trial_};
  }
  // `copy`: the policies' data on the view's nodes; null: that of the cluster model.
  PlacementDecision decide(const ClusterView& view, Fleet* copy, const PodSpec& pod,
                           std::vector<std::string> candidates, const models::QNetwork* network, double epsilon,
                           std::uint64_t turn, std::mt19937_64& random, std::span<const std::size_t> rows,
                           const Ahead& ahead);
  PlacementDecision decide(const ClusterView& view, Fleet* copy, const PodSpec& pod,
                           std::vector<std::string> candidates, const models::QNetwork* network,
                           const DecideOptions& options, std::uint64_t turn, std::mt19937_64& random,
                           std::span<const std::size_t> rows, const Ahead& ahead);
  // Returns whether advice accumulates on the copy.
  bool copying() const { return shadow_ || control_; }
  void learned_of(PodHandle pod);
  void model_saving(const ClusterView& view, const Fleet& fleet);
  // Returns the distinct rows of the candidates, ascending.
  std::vector<std::size_t> rows_of(const ClusterView& view, std::span<const std::string> candidates);

  EngineOptions options_;
  ClusterModel knowledge_;
  RowIndex index_;
  PlanMaker* maker_ = nullptr;
  std::unique_ptr<Policy> policy_;
  ChoiceGate plan_gate_, learned_gate_;
  bool recent_of_learned_ = false;
  std::string certificate_;  // of the network under comparison; empty: none, or restored after a restart
  PairedSimulation plan_trial_;
  Planner trial_planner_{PlannerOptions{}};
  PlanRecord plan_record_;
  bool shadow_ = false;
  std::optional<std::uint64_t> control_;  // the block
  ComparedEnergy compared_;
  AdvisedCluster advised_;
  ModelledSaving saving_;
  std::optional<MonoTime> modelled_;
  const std::string none_;
  std::function<void(const GateNews&)> gate_told_;
};

}  // namespace wattle::placement
