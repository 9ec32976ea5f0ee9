// contestant: defines how an episode's decisions are made: by a policy of placement/decide/policies within the
// controller's decision engine, by only the default scheduler, or with the truth.
// Binding  to kube-scheduler's choice given the scores (sim/world/kube_scoring); ties and random events follow the seed
// Errors   make: not_found, with the names
// Threads  single owner
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/frozen/q_network.hpp"
#include "placement/decide/decide.hpp"
#include "sim/policies/live_engine.hpp"
#include "sim/world/world.hpp"

namespace wattle::sim {

enum class Binding {
  advised,    // a policy of placement/decide/policies, through extender scores
  unadvised,  // no extender scores: the default scheduler
  alone,      // a policy's own values, as if it were the scheduler
  truth,      // least true added watts: a reference with data that no policy gets
};

struct Contestant {
  std::string name;
  Binding binding = Binding::advised;
  std::string policy = "dqn";                      // of placement/decide/policies, or of made_by
  const models::QNetwork* network = nullptr;       // for a policy that learns
  std::optional<placement::RewardConfig> reward;   // reward of the policy; unset: the environment's
  bool measured = false;                           // for a network: measured blocks decide which candidate serves
  double wait_price_w = 0;                         // for truth: price of a pod that waits all the time
  const placement::PolicyInfo* made_by = nullptr;  // a policy that is in no registry (lab/policies); must outlive it
  bool within_budget = false;  // for truth: finds the price at which pods wait no longer than allowed
};

// Finds a contestant by its name in tables and on command lines: a policy, run as it would serve; "kube-default"
// without advice; "dqn-measured", which is dqn judged by measured blocks, as in mode live
// (placement/judge/candidate_trials); "true-greedy"; "true-budget", which keeps pods' waiting within its limit.
// `network` is that of dqn or tabular-q.
// Errors: not_found, with the names; a learning policy without a network; conflict if the network is of another policy.
Result<Contestant> contestant_named(std::string_view name, const models::QNetwork* network = nullptr);

// Settings of the environment, common to all contestants.
struct ChooserOptions {
  placement::RewardConfig reward;
  placement::MaskOptions mask;
  placement::ClusterModelOptions cluster_model;
  std::string known;  // cluster model of an earlier run (ClusterModel::save); empty: none
  placement::NetworkOptions network;
  std::int64_t extender_weight = kExtenderWeight;
  placement::BudgetLimits limits;
  std::optional<placement::CandidateTrials::State> candidates;  // evidence of that earlier run; unset: none
};

class Chooser {
 public:
  static Result<Chooser> make(const Contestant& contestant, const ChooserOptions& options, std::uint64_t seed);

  // Observer that must follow the world.
  WorldObserver* observer() { return engine_.get(); }
  // Returns the pod with its expectations, for its views and its placement. They are the same for all contestants, so
  // that their rewards are comparable.
  placement::PodSpec expected(const placement::PodSpec& pod) const { return engine_->expected(pod); }
  // Returns the chosen node; no value if the pod fits nowhere or should wait, see deferred(). `ahead`: for Wattle
  // policies with scores.
  std::optional<std::size_t> choose(const World& world, const placement::ClusterView& view, const SimPod& pod,
                                    const placement::Ahead& ahead = {});
  // Deferral of the last choice.
  const std::optional<placement::Deferral>& deferred() const { return deferred_; }
  // Returns whether default scoring could not have made the last choice, for any order of ties.
  bool deviates(const SimPod& pod, std::size_t node) const;
  // The engine. Contestants that are not Wattle policies have one, too: the controller in shadow mode.
  const LiveEngine& engine() const { return *engine_; }

 private:
  Chooser(const Contestant& contestant, const ChooserOptions& options, std::uint64_t seed);
  std::vector<std::size_t> feasible(const KubePod& pod) const;
  std::optional<std::size_t> alone(const placement::ClusterView& view, const SimPod& pod);

  const Contestant* contestant_;
  placement::DecideOptions options_;
  std::int64_t extender_weight_;
  std::unique_ptr<LiveEngine> engine_;
  Random ties_, exploration_;
  std::optional<placement::Deferral> deferred_;
  std::vector<KubeNode> nodes_;
};

}  // namespace wattle::sim
