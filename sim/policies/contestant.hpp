// contestant: who decides in an episode, and how: a policy of placement/policies with all that the controller decides by, the default
// scheduler alone, or the truth.
// Binding  where kube-scheduler would bind, given the scores (sim/world/kube_scoring); ties and chances follow the seed
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
#include "placement/decide.hpp"
#include "sim/policies/live_engine.hpp"
#include "sim/world/world.hpp"

namespace wattle::sim {

enum class Binding {
  advised,    // a policy of placement/policies, through extender scores
  unadvised,  // no scores of ours: the default scheduler
  alone,      // a policy's own values, as if it were the scheduler
  truth,      // least true added watts: a reference that sees what nobody is told
  pairs,      // the planner's, corrected by who really disturbs whom: likewise
};

struct Contestant {
  std::string name;
  Binding binding = Binding::advised;
  std::string policy = "dqn";                     // of placement/policies
  const models::QNetwork* network = nullptr;      // of a policy that learns
  std::optional<placement::RewardConfig> reward;  // that it goes by; absent: the environment's
  bool gate = false;                              // of a network: the planner serves while it is behind
  double wait_price_w = 0;                        // of the truth: what a pod that waits all the time costs it
  bool within_budget = false;  // of the truth: it finds the price by which pods wait no longer than they may
};

// By its name in tables and on command lines: a policy, which plays as it would serve (other people's schedulers alone);
// "kube-default" without advice; "dqn-gated", which is dqn with the gate; "true-greedy", and "true-budget", which
// keeps pods' waiting within its limit; "pairs-oracle". `network` is that of dqn or tabular-q.
// Errors: not_found, with the names; a policy that learns without a network; conflict: the network is of another policy.
Result<Contestant> contestant_named(std::string_view name, const models::QNetwork* network = nullptr);

// What is the environment's, not the contestant's.
struct ChooserOptions {
  placement::RewardConfig reward;
  placement::MaskOptions mask;
  placement::ClusterModelOptions knowledge;
  std::string known;  // DecisionEngine's knowledge of an earlier run (Knowledge::save); empty: it begins with nothing
  placement::NetworkOptions network;
  SchedulerOptions scheduler;
  placement::Limits limits;
  std::optional<KeptVerdicts> verdicts;  // of gates, of that earlier run; absent: they begin anew
};

// Where that scheduler binds, given scores of each node (empty: no extender) and the view of the pod.
std::optional<std::size_t> bind_node(std::span<const KubeNode> nodes, const KubePod& pod,
                                     std::span<const std::int64_t> scores, const SchedulerOptions& scheduler,
                                     const placement::ClusterView& view, Random& ties);

class Chooser {
 public:
  static Result<Chooser> make(const Contestant& contestant, const ChooserOptions& options, std::uint64_t seed);

  // What must follow the world.
  WorldObserver* observer() { return engine_.get(); }
  // The pod as views of it must be made, and as it must be placed: the same is expected of it whoever decides, so that the
  // rewards of all contestants are of one kind.
  placement::PodSpec expected(const placement::PodSpec& pod) const { return engine_->expected(pod); }
  // Absent: it fits nowhere, or had better wait, as deferred() says. `ahead`: for policies of ours with scores.
  std::optional<std::size_t> choose(const World& world, const placement::ClusterView& view, const SimPod& pod,
                                    const placement::Ahead& ahead = {});
  // Of the last choice.
  const std::optional<placement::Deferral>& deferred() const { return deferred_; }
  // Whether default scoring would never have made the last choice, however ties fall.
  bool deviates(const SimPod& pod, std::size_t node) const;
  // Of who is no policy of ours too: the controller in shadow mode.
  const LiveEngine& engine() const { return *engine_; }

 private:
  Chooser(const Contestant& contestant, const ChooserOptions& options, std::uint64_t seed);
  std::vector<std::size_t> feasible(const KubePod& pod) const;
  std::optional<std::size_t> alone(const placement::ClusterView& view, const SimPod& pod);

  const Contestant* contestant_;
  placement::DecideOptions options_;
  SchedulerOptions scheduler_;
  std::unique_ptr<LiveEngine> engine_;
  Random ties_, exploration_;
  std::optional<placement::Deferral> deferred_;
  std::vector<KubeNode> nodes_;
};

}  // namespace wattle::sim
