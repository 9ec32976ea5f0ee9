// ranking_comparison: compares, outside of the answers, what the ranking in force, its references and both sides of the
// network gate would choose for a decision.
// Cost     at most one decision a second and one part in kPartOfTime of the time; asks wait during a comparison
// Gives    placement/judge/off_policy's samples; placements of network and planner on copies of the cluster go to the
//          engine's gate
// Errors   none: a decision without a choice of every side is not compared
// Threads  single owner
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "common/clock.hpp"
#include "controller/state/cluster_state.hpp"
#include "controller/trainer/serving_model.hpp"
#include "placement/decide/decision_engine.hpp"
#include "placement/judge/off_policy.hpp"

namespace wattle::controller {

class RankingComparison {
 public:
  static constexpr std::int64_t kPartOfTime = 500;
  explicit RankingComparison(const Clock& clock);
  // Sets the maker of the references' plans, which must outlive the comparison.
  void plan_with(placement::PlanMaker& maker);
  void prepare(const placement::Fleet& fleet);

  // Offers a decision; the first since the last comparison is taken.
  void offer(std::uint64_t id, const placement::PodSpec& spec, const std::vector<std::string>& candidates);
  // Call once a second with what may serve; another reference network restarts its gates.
  void look_at(placement::DecisionEngine& engine, const ServingModel::Serving& serving);
  // Drops the waiting decision. `anew`: another ranking is in force, so also drops the comparisons and the judged
  // network.
  void ranking_changed(bool anew);
  bool due(MonoTime now) const { return waiting_ && now >= after_; }
  // `network`: the serving one if it fits the policy, or null; `turn`: decisions so far. Returns true if the gate's
  // verdict changed.
  bool run(placement::DecisionEngine& engine, ClusterState& state, const ServingModel::Serving& serving,
           const models::QNetwork* network, std::uint64_t turn);
  void judged(std::uint64_t id, const std::string& node, double reward) { off_policy_.judged(id, node, reward); }

  const placement::OffPolicyComparison& off_policy() const { return off_policy_; }
  void restore(std::vector<placement::ComparedDecision> compared) { off_policy_.restore(std::move(compared)); }
  // File of the network that the gate judges; empty if it has no file, or if no network was judged yet.
  std::string network() const { return network_.value_or(""); }
  // The gate was restored with this network.
  void gate_restored(std::string network);

 private:
  struct Made {
    std::uint64_t id = 0;
    placement::PodSpec spec;
    std::vector<std::string> candidates;
  };
  bool contend(placement::DecisionEngine& engine, const Made& made, const placement::ClusterView& view,
               const ServingModel::Serving& serving, const models::QNetwork* network);

  const Clock& clock_;
  placement::OffPolicyComparison off_policy_;
  std::array<std::unique_ptr<placement::Policy>, placement::kReferencePolicies.size()> references_;
  std::optional<Made> waiting_;
  MonoTime after_{};
  std::mt19937_64 random_;              // its draws change no decision
  std::optional<std::string> network_;  // unset: the gate has judged no network since the ranking began
  bool gate_restored_ = false;          // true until the next comparison
};

}  // namespace wattle::controller
