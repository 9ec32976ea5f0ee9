// decision_engine: combines a policy, the cluster model and the trials of candidates. It makes all decisions, live and
// simulated.
// Input    which pods run where, their usage and their ends (on_pod_started, on_usage, on_pod_ended), and the view
//          about once a second (refresh)
// Trials   measured blocks decide which candidate serves (placement/judge/candidate_trials), for policy "dqn" and
//          rewards with energy only. Where decisions do not act, the candidate in use serves and nothing is measured
// Shadow   while the scheduler does not follow the advice, the advice accumulates on a copy of the cluster; while it
//          does, the default scheduler's choices accumulate there (placement/judge/shadow_cluster)
// Record   decide() fills all of it except id, wall_ns, mode, model_step and decide_us
// Errors   set_policy: not_found, and the engine is unchanged
// Threads  single owner
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "common/result.hpp"
#include "placement/cluster/cluster_model.hpp"
#include "placement/cluster/row_index.hpp"
#include "placement/decide/decide.hpp"
#include "placement/decide/policies/kube_scoring.hpp"
#include "placement/decide/policies/policy.hpp"
#include "placement/judge/candidate_trials.hpp"
#include "placement/judge/shadow_cluster.hpp"

namespace wattle::placement {

struct EngineOptions {
  DecideOptions decide;  // its reward is the one last given to set_policy()
  NetworkOptions network;
  AdvisedOptions advised;
  ModelledOptions modelled;
  TrialOptions trials;
};

// A pod to place, and all that the decision depends on besides the engine.
struct Question {
  const ClusterView& view;
  const PodSpec& pod;
  std::vector<std::string> candidates;        // node names; may contain nodes that the view does not know
  const models::QNetwork* network = nullptr;  // serves the policy; ignored while another candidate serves
  double epsilon = 0;                         // exploration rate
  std::uint64_t turn = 0;                     // number of the decision; breaks ties
  std::mt19937_64& random;
  std::span<const std::size_t> rows = {};  // rows of the candidates, if index() has just found them
  Ahead ahead = {};
};

class DecisionEngine {
 public:
  explicit DecisionEngine(EngineOptions options, ClusterModel model = ClusterModel());

  // Sets policy and reward for all later decisions. Returns true if the ranking changed; the trials then
  // restart.
  Result<bool> set_policy(const std::string& policy, const RewardConfig& reward);
  bool set_policy(std::unique_ptr<Policy> policy, const RewardConfig& reward);
  // Sets the maker of plans, which must outlive the engine. Null: each decision waits for its own plan.
  void plan_with(PlanMaker* maker);

  // Returns the pod with its predicted demand and life. Pass the result to the view and to decide().
  PodSpec expected(PodSpec pod) const;
  PlacementDecision decide(Question question);
  // Decides on the shadow cluster. In shadow mode and in a control block this is the advice. No value if the shadow
  // cluster equals the real one. Learning uses the result of decide(), because the pod runs on the real cluster.
  std::optional<PlacementDecision> decide_on_copy(Question question);
  // Returns the advice for a pod under the given rewards on the current cluster. Excludes the pod's own load if it
  // already runs in `row`. Does not explore, reserve or learn. The question must have no network unless the reward is
  // the network's own.
  PlacementDecision what_if(Question question, const RewardConfig& reward, std::optional<std::size_t> row);
  // Reserves the advised node on the shadow cluster until the pod ends.
  void reserve(const PodSpec& pod, const PlacementDecision& advice, MonoTime now, Duration hold = Duration::zero());
  // While Wattle acts, reserves the node that the default scheduler would choose on its copy of the cluster.
  void reserve_default(const ClusterView& view, const PodSpec& pod, std::span<const std::size_t> offered,
                       Duration hold = Duration::zero());
  // Restores the advice for a running pod after a restart.
  void reserve_again(const PodSpec& pod, AdvisedCluster::Place advised, AdvisedCluster::Place runs, MonoTime now);

  // Returns the policy's own values from the scheduler's cache of all nodes. Only the values of `feasible` nodes are
  // meaningful.
  std::vector<double> values(const ClusterView& view, const PodSpec& pod, std::span<const std::size_t> feasible,
                             std::span<const KubeNode> scheduler, std::uint64_t turn);
  // Inputs for scores that belong to no pod.
  PolicyInputs inputs(const models::QNetwork* network) {
    return {*policy_, usable(network), &model_,   &index_, {}, options_.network.shortlist, nullptr,
            {},       gated_why(),     chooser(), &facts_};
  }

  // Records that the pod runs on the node in that row of the view. Nothing is learned from DaemonSet pods.
  PodHandle on_pod_started(const PodSpec& pod, const std::string& node, std::size_t row, MonoTime now);
  void on_usage(std::span<const PodReading> readings, double interval_s);
  // Records that the pod is being deleted: decisions no longer expect its usage.
  void on_pod_leaving(const std::string& uid, MonoTime now);
  // Records that the pod ended; `row` is where it ran, if known.
  void on_pod_ended(const std::string& uid, const PodSpec* pod, std::optional<std::size_t> row, MonoTime now);
  // Updates the cluster model and the plans from the view.
  const Fleet& refresh(const ClusterView& view);

  // True if measured evidence decides which candidate serves under this policy and reward. If not, the policy serves.
  bool measured() const;
  // True while another candidate serves in place of a network.
  bool gated() const { return measured() && !is_network(trials_.serves()); }
  // Reason; empty if not gated.
  const std::string& gated_why() const { return gated() ? trials_.why() : none_; }
  const models::QNetwork* usable(const models::QNetwork* network) const { return gated() ? nullptr : network; }

  // Sets whether decisions act. Candidates are measured only while they do.
  void set_acting_for_trials(bool acting);
  const CandidateTrials& trials() const { return trials_; }
  CandidateTrials& trials() { return trials_; }
  ShadowCluster& shadow() { return shadow_; }
  const ShadowCluster& shadow() const { return shadow_; }
  const PolicyInfo& policy() const { return policy_->info(); }
  const DecideOptions& options() const { return options_.decide; }
  ClusterModel& cluster_model() { return model_; }
  const ClusterModel& cluster_model() const { return model_; }
  RowIndex& index() { return index_; }

 private:
  // The policy that ranks nodes in place of policy_; null: policy_ does.
  Policy* chooser() const;
  // The policy and the policies that may replace it.
  std::array<Policy*, 3> all_policies() const { return {policy_.get(), floor_.get(), planner_.get()}; }
  PlacementDecision decide_on(const ClusterView& view, Fleet* copy, Question question, const DecideOptions& options);

  EngineOptions options_;
  ClusterModel model_;
  RowIndex index_;
  FactsOfNodes facts_, copy_facts_;  // of the cluster, and of its copies
  PlanMaker* maker_ = nullptr;
  std::unique_ptr<Policy> policy_, floor_, planner_;
  CandidateTrials trials_;
  bool acting_for_trials_ = false;
  ShadowCluster shadow_;
  std::mt19937_64 default_ties_;
  const std::string none_;
};

}  // namespace wattle::placement
