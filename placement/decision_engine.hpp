// decision_engine: a policy, what is known of its cluster and the gate on its network as one: what decides, live and simulated.
// Input    what runs where, what it used and that it went (came, used, left), and the view about once a second (refresh)
// Gate     the network's choices and the planner's fill a copy of the cluster each (placement/paired_simulation); while the network's cost more
//          (placement/sequential_test) its policy goes by the prior alone, which is the plan's choice. Only of "dqn", where joules count
// Plan     likewise the plan against each pod's own cost, on copies of their own, where pods come and go: it is followed once and as long as
//          it is ahead (placement/plan_record)
// Record   decide() makes all of it but id, wall_ns, mode, model_step and decide_us
// Errors   take: not_found, and nothing changes
// Threads  single owner
#pragma once

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
#include "placement/cluster_model.hpp"
#include "placement/decide.hpp"
#include "placement/paired_simulation.hpp"
#include "placement/plan_record.hpp"
#include "placement/planner.hpp"
#include "placement/policies/network.hpp"
#include "placement/policies/policy.hpp"
#include "placement/row_index.hpp"
#include "placement/sequential_test.hpp"

namespace wattle::placement {

struct EngineOptions {
  DecideOptions decide;           // its reward is what take() was given last
  bool require_evidence = false;  // the network is heard only once it has shown that it is ahead
  NetworkOptions network;         // its gate is this class's
};

class DecisionEngine {
 public:
  explicit DecisionEngine(EngineOptions options, ClusterModel knowledge = ClusterModel());

  // Policy and reward from the next decision on. True: another ranking than before, and the gate begins anew.
  Result<bool> take(const std::string& policy, const RewardConfig& reward);
  // Who makes plans; it outlives this. Null: whoever asks waits for them.
  void plan_with(PlanMaker* maker);
  // Called when the network is gated or let back: what follows, why.
  void on_gate(std::function<void(const std::string&, const std::string&)> told) { gate_told_ = std::move(told); }

  // The pod with what is expected of it; what a view is made for, and decide() is given.
  PodSpec expected(PodSpec pod) const;
  // `network`: that serves the policy; it is not heard while it is gated. `rows`: of the candidates, if index() has just told them.
  PlacementDecision decide(const ClusterView& view, const PodSpec& pod, std::vector<std::string> candidates,
                           const models::QNetwork* network, double epsilon, std::uint64_t turn, std::mt19937_64& random,
                           std::span<const std::size_t> rows = {});
  // What the policy alone makes of nodes, by what a scheduler's cache says of all of them; values of `feasible` ones count.
  std::vector<double> values(const ClusterView& view, const PodSpec& pod, std::span<const std::size_t> feasible,
                             std::span<const KubeNode> scheduler, std::uint64_t turn);
  // For scores that no pod is behind.
  PolicyInputs mind(const models::QNetwork* network) {
    return {*policy_, usable(network), &knowledge_, &index_, {}, options_.network.shortlist};
  }

  // It runs there, the row of the view; DaemonSets' pods teach nothing.
  void came(const PodSpec& pod, const std::string& node, std::size_t row, MonoTime now);
  void used(const std::string& uid, double cores, double interval_s) { knowledge_.used(uid, cores, interval_s); }
  // It ended; where it ran, if that is known.
  void left(const std::string& uid, const PodSpec* pod, std::optional<std::size_t> row, MonoTime now);
  // The model of the cluster and the plans, as of the view.
  const Fleet& refresh(const ClusterView& view);

  // Whether the two are compared at all for such a pod: no latency limits, which the planner does not look at.
  bool contested(const PodSpec& pod) const;
  // The network's choice for it and the planner's. True: the verdict has changed.
  bool compare(const ClusterView& view, const PodSpec& pod, std::span<const std::string> candidates,
               const models::QNetwork& network);
  // Whether the plan is worth following: its choice for the pod and that of the amortised rank, on copies of their own.
  void try_plan(const ClusterView& view, const PodSpec& pod, std::span<const std::string> candidates);
  const PlanRecord& plan_record() const { return plan_record_; }
  void begin_gate_anew(const std::string& why);
  bool restore_gate(const SequentialTestState& state, std::string why);
  bool gated() const { return contest_.network_gated() && contested(); }
  // Why; empty: it is not.
  const std::string& gated_why() const { return gated() ? gated_why_ : none_; }
  const SequentialTest& contest() const { return contest_; }
  const models::QNetwork* usable(const models::QNetwork* network) const { return gated() ? nullptr : network; }

  const PolicyInfo& policy() const { return policy_->info(); }
  const DecideOptions& options() const { return options_.decide; }
  ClusterModel& knowledge() { return knowledge_; }
  const ClusterModel& knowledge() const { return knowledge_; }
  RowIndex& index() { return index_; }

 private:
  bool contested() const;
  // Of the candidates, ascending, each once.
  std::vector<std::size_t> rows_of(const ClusterView& view, std::span<const std::string> candidates);

  EngineOptions options_;
  ClusterModel knowledge_;
  RowIndex index_;
  PlanMaker* maker_ = nullptr;
  std::unique_ptr<Policy> policy_;
  Planner contest_planner_{PlannerOptions{}};
  PairedSimulation twins_;
  PairedSimulation plan_trial_;
  PlanRecord plan_record_;
  SequentialTest contest_;
  std::string gated_why_;
  const std::string none_;
  std::function<void(const std::string&, const std::string&)> gate_told_;
};

}  // namespace wattle::placement
