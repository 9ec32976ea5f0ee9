// decision_engine: a policy, what is known of its cluster and the gate on its network as one: what decides, live and simulated.
// Input    what runs where, what it used and that it went (came, used, left), and the view about once a second (refresh)
// Gates    choices fill copies of the cluster, one each (placement/paired_simulation), and a sequential test says whose cost more. Plan or
//          network: while the network's cost more its policy goes by the prior alone, which is the plan's choice. Trusted or learned: what
//          is learned here is heard in place of the network that it began with while its choices cost less. Only of "dqn", where joules
//          count
// Plan     likewise the plan against each pod's own cost, on copies of their own, where pods come and go: it is followed once and as long as
//          it is ahead (placement/plan_record)
// Shadow   where nothing follows advice, advice adds up on a copy of the cluster (placement/advised_cluster), beside which what acting would
//          save is modelled (placement/modelled_saving)
// Record   decide() makes all of it but id, wall_ns, mode, model_step and decide_us
// Errors   take: not_found, and nothing changes
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
#include "placement/advised_cluster.hpp"
#include "placement/cluster_model.hpp"
#include "placement/compared_energy.hpp"
#include "placement/decide.hpp"
#include "placement/modelled_saving.hpp"
#include "placement/paired_simulation.hpp"
#include "placement/plan_record.hpp"
#include "placement/planner.hpp"
#include "placement/policies/network.hpp"
#include "placement/policies/policy.hpp"
#include "placement/recent_blocks.hpp"
#include "placement/row_index.hpp"
#include "placement/sequential_test.hpp"

namespace wattle::placement {

struct EngineOptions {
  DecideOptions decide;           // its reward is what take() was given last
  bool require_evidence = false;  // a network that nothing speaks for is heard only once it has shown that it is ahead
  NetworkOptions network;         // its gate is this class's
  AdvisedOptions advised;
  ModelledOptions modelled;
};

// One question and who is ahead, on copies of the cluster.
struct ChoiceGate {
  SequentialTest test;
  PairedSimulation copies;
  // Of these copies alone: a plan goes on from the one before, so that copies which share a planner change each other's.
  Planner planner{PlannerOptions{}};
  std::string why;  // of the last verdict, with the figures that it rests on; empty where nothing has been judged
  RecentBlocks recent;
};

struct GateNews {
  bool of_learned = false;  // of what was learned here; else of the network against the plan
  bool gated = false;
  std::string why;
};

class DecisionEngine {
 public:
  explicit DecisionEngine(EngineOptions options, ClusterModel knowledge = ClusterModel());

  // Policy and reward from the next decision on. True: another ranking than before, and the gate begins anew.
  Result<bool> take(const std::string& policy, const RewardConfig& reward);
  // Who makes plans; it outlives this. Null: whoever asks waits for them.
  void plan_with(PlanMaker* maker);
  // Called when a gate changes its verdict.
  void on_gate(std::function<void(const GateNews&)> told) { gate_told_ = std::move(told); }

  // The pod with what is expected of it; what a view is made for, and decide() is given.
  PodSpec expected(PodSpec pod) const;
  // `network`: that serves the policy; it is not heard while it is gated. `rows`: of the candidates, if index() has just told them.
  PlacementDecision decide(const ClusterView& view, const PodSpec& pod, std::vector<std::string> candidates,
                           const models::QNetwork* network, double epsilon, std::uint64_t turn, std::mt19937_64& random,
                           std::span<const std::size_t> rows = {}, const Ahead& ahead = {});
  // Nothing follows advice from now on, or it is followed. What was modelled goes on where nothing changed, unless `anew`.
  void set_shadow(bool on, bool anew);
  // A block of a canary in which nothing follows advice: it adds up on a copy that begins with the block; absent: none runs.
  void set_control(std::optional<std::uint64_t> block);
  // Since that block began; absent: none runs.
  std::optional<ComparedEnergy> compared() const { return control_ ? std::optional(compared_) : std::nullopt; }
  // decide() on the copy, which is what to advise in shadow and in such a block; absent where the copy is the cluster. Who learns
  // from the decision needs decide()'s: the pod goes to the cluster as it is.
  std::optional<PlacementDecision> decide_on_copy(const ClusterView& view, const PodSpec& pod,
                                                  const std::vector<std::string>& candidates,
                                                  const models::QNetwork* network, double epsilon, std::uint64_t turn,
                                                  std::mt19937_64& random, std::span<const std::size_t> rows = {},
                                                  const Ahead& ahead = {});
  // What the pod would be advised were these the rewards, on the cluster as it is; of a pod that runs in a row, less the pod itself.
  // Nothing is explored, reserved or learned. `network`: null where it is of other rewards.
  PlacementDecision what_if(const ClusterView& view, const PodSpec& pod, std::vector<std::string> candidates,
                            const models::QNetwork* network, const RewardConfig& reward, std::optional<std::size_t> row,
                            std::uint64_t turn);
  // In shadow: what was advised is reserved on the copy until the pod ends.
  void reserve(const PodSpec& pod, const PlacementDecision& advice, MonoTime now, Duration hold = Duration::zero());
  // An API server has the pod: it is expected until it runs or is withdrawn.
  void keep(const std::string& uid) { advised_.keep(uid); }
  // It was advised there before a restart, and runs.
  void reserve_again(const PodSpec& pod, AdvisedCluster::Place advised, AdvisedCluster::Place runs, MonoTime now);
  // The pod waits no more, or is asked for again.
  void withdraw(const std::string& uid) { advised_.withdraw(uid); }
  // Null: not in shadow.
  const ModelledSaving* saving() const { return shadow_ ? &saving_ : nullptr; }
  bool restore_saving(const ModelledState& state) { return shadow_ && saving_.restore(state); }

  // What the policy alone makes of nodes, by what a scheduler's cache says of all of them; values of `feasible` ones count.
  std::vector<double> values(const ClusterView& view, const PodSpec& pod, std::span<const std::size_t> feasible,
                             std::span<const KubeNode> scheduler, std::uint64_t turn);
  // For scores that no pod is behind.
  PolicyInputs mind(const models::QNetwork* network) {
    return {*policy_, usable(network), &knowledge_, &index_, {}, options_.network.shortlist, nullptr, {}, gated_why()};
  }

  // It runs there, the row of the view; DaemonSets' pods teach nothing.
  PodHandle came(const PodSpec& pod, const std::string& node, std::size_t row, MonoTime now);
  void used(std::span<const PodReading> readings, double interval_s) {
    knowledge_.used(readings, interval_s);
    if (!copying()) return;
    for (const PodReading& each : readings) learned_of(each.pod);
  }
  // It ended; where it ran, if that is known.
  void left(const std::string& uid, const PodSpec* pod, std::optional<std::size_t> row, MonoTime now);
  // The model of the cluster and the plans, as of the view.
  const Fleet& refresh(const ClusterView& view);

  // Whether networks are compared with the planner at all, by policy and reward; and for such a pod.
  bool network_gate_applies() const;
  bool network_gate_applies(const PodSpec& pod) const;
  // The network's choice for it and the planner's. `learned`: it was learned here, and the gate's certificate speaks for another; recent
  // figures are of one of the two alone. True: the verdict has changed.
  bool compare(const ClusterView& view, const PodSpec& pod, std::span<const std::string> candidates,
               const models::QNetwork& network, bool learned = false);
  // Likewise what is learned here and what it is held to.
  bool compare_learned(const ClusterView& view, const PodSpec& pod, std::span<const std::string> candidates,
                       const models::QNetwork& learned, const models::QNetwork& trusted);
  // Whether the plan is worth following: its choice for the pod and that of the amortised rank, on copies of their own.
  void try_plan(const ClusterView& view, const PodSpec& pod, std::span<const std::string> candidates);
  const PlanRecord& plan_record() const { return plan_record_; }
  bool restore_plan_record(const PlanRecord::State& state);
  // `certificate`: what speaks for the network that is heard from now on; empty: nothing, and it must show that it is ahead where the
  // options say so.
  void begin_gate_anew(const std::string& why, const std::string& certificate = {});
  // The network that what is learned is held to is another one.
  void begin_learned_anew();
  bool restore_gate(const SequentialTestState& state, std::string why);
  bool restore_learned_gate(const SequentialTestState& state) { return learned_gate_.test.restore(state); }
  // Recent comparisons: of the network that is asked with the plan, and of what is learned here with what it is held to.
  const RecentBlocks& recent() const { return plan_gate_.recent; }
  const RecentBlocks& recent_learned() const { return learned_gate_.recent; }
  bool recent_is_of_learned() const { return recent_of_learned_; }
  void restore_recent(const RecentBlocks& recent, bool of_learned) {
    plan_gate_.recent = recent;
    recent_of_learned_ = of_learned;
  }
  void restore_recent_learned(const RecentBlocks& recent) { learned_gate_.recent = recent; }
  bool gated() const { return plan_gate_.test.network_gated() && network_gate_applies(); }
  // Why; empty: it is not.
  const std::string& gated_why() const { return gated() ? plan_gate_.why : none_; }
  const std::string& gate_why() const { return plan_gate_.why; }
  // Whether what it is held to is heard in place of what is learned here.
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
  // `copy`: what policies know of the view's nodes; null: what is known of the cluster.
  PlacementDecision decide(const ClusterView& view, Fleet* copy, const PodSpec& pod,
                           std::vector<std::string> candidates, const models::QNetwork* network, double epsilon,
                           std::uint64_t turn, std::mt19937_64& random, std::span<const std::size_t> rows,
                           const Ahead& ahead);
  PlacementDecision decide(const ClusterView& view, Fleet* copy, const PodSpec& pod,
                           std::vector<std::string> candidates, const models::QNetwork* network,
                           const DecideOptions& options, std::uint64_t turn, std::mt19937_64& random,
                           std::span<const std::size_t> rows, const Ahead& ahead);
  // Advice adds up on the copy.
  bool copying() const { return shadow_ || control_; }
  void learned_of(PodHandle pod);
  void model_saving(const ClusterView& view, const Fleet& fleet);
  // Of the candidates, ascending, each once.
  std::vector<std::size_t> rows_of(const ClusterView& view, std::span<const std::string> candidates);

  EngineOptions options_;
  ClusterModel knowledge_;
  RowIndex index_;
  PlanMaker* maker_ = nullptr;
  std::unique_ptr<Policy> policy_;
  ChoiceGate plan_gate_, learned_gate_;
  bool recent_of_learned_ = false;
  std::string certificate_;  // of the network that is judged; empty: it has none, or a restart went on with it
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
