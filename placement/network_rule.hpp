// network_rule: the learned network as a rule among the others, on features that the live controller shares.
// Method   the planner's view of the pod gives features and prior (placement/features); the node of highest prior + residual
//          wins. A gate keeps the planner's own choice unless another is better by at least `margin`, so that a network that
//          has learned nothing (residual 0) is the planner
// Units    Q and margin in W0, the mean amortised watts per place of the nodes compared
// Errors   none: no node fits -> nothing chosen; a residual that is not finite is 0 (models/frozen)
// Threads  single owner; the network is shared and immutable
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "models/frozen/q_network.hpp"
#include "placement/contest.hpp"
#include "placement/fleet.hpp"
#include "placement/planner.hpp"
#include "placement/twins.hpp"

namespace wattle::placement {

// The part of the fleet that features are made of: no names, no telemetry but cores in use, curves as the fleet has them.
void fill_view(const Fleet& fleet, ClusterView& view);

// One waiting pod as the network sees it.
struct PlannedAsk {
  PlanView plan;
  models::Observation observation;
};
PlannedAsk observe_planned(Planner& planner, const Fleet& fleet, const Ask& ask, ClusterView& scratch);
// The same without a plan: the pod's predicted demand and life, and the amortised rank as prior.
PlannedAsk observe_unplanned(const Fleet& fleet, const Ask& ask, ClusterView& scratch);

struct NetworkRuleOptions {
  PlannerOptions planner;
  double margin = 0;
  bool plan = true;  // false: features and prior without the planner, and nothing to fall back to
  std::optional<ContestOptions>
      guard;                 // the planner's choices while the network is behind it; needs a plan, and to be told
                             // which pod comes and which have ended
  bool lives_known = false;  // an Ask's life is when it will end
};

class NetworkRule final : public Rule {
 public:
  NetworkRule(std::shared_ptr<const models::QNetwork> network, NetworkRuleOptions options)
      : network_(std::move(network)),
        options_(options),
        planner_(options.planner),
        contest_(options.guard.value_or(ContestOptions{})) {}
  std::string_view name() const override { return "dqn"; }
  std::optional<std::size_t> choose(const Fleet& fleet, const Ask& ask) override;

  // Of a guarded rule: the pod that choose() is asked about next, and when one has ended.
  void next_pod(std::uint64_t key) { pod_ = key; }
  void ended(std::uint64_t key, double now_s) { twins_.ended(key, now_s); }
  // One that was there before the first choice.
  void ended_there(std::size_t node, const Ask& ask, double now_s) { twins_.ended_there(node, ask, now_s); }

  void set_network(std::shared_ptr<const models::QNetwork> network) { network_ = std::move(network); }
  // Since construction: choices, and those among them that were not the planner's.
  std::uint64_t choices() const { return choices_; }
  std::uint64_t deviations() const { return deviations_; }
  const Contest& contest() const { return contest_; }
  std::uint64_t left_out() const {
    return left_out_;
  }  // choices that were the planner's because the network was behind

 private:
  void compare(const Fleet& fleet, const Ask& ask);

  std::uint64_t pod_ = 0;
  std::shared_ptr<const models::QNetwork> network_;
  NetworkRuleOptions options_;
  Planner planner_;
  Contest contest_;
  Twins twins_;
  ClusterView view_;
  std::vector<std::size_t> rows_;
  std::vector<float> q_;
  std::uint64_t choices_ = 0, deviations_ = 0, left_out_ = 0;
};

// The valid node of highest prior + residual; `keep` (if given) unless it is beaten by `margin`. residual is [nodes].
std::optional<std::size_t> best_node(const models::Observation& observation, std::span<const float> residual,
                                     std::optional<std::size_t> keep, double margin);

}  // namespace wattle::placement
