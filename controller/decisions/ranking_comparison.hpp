// ranking_comparison: off the way of answers, what the ranking in force, its references and the network gate's two sides would choose
// for a decision that was made.
// Cost     one decision a second at most, and one part of the time in kPartOfTime: asks wait while it compares
// Gives    placement/off_policy's samples; what network and planner place on copies of the cluster goes to the engine's gate
// Errors   none: a decision for which somebody has no choice is not compared
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
#include "placement/decision_engine.hpp"
#include "placement/off_policy.hpp"

namespace wattle::controller {

class RankingComparison {
 public:
  static constexpr std::int64_t kPartOfTime = 500;
  explicit RankingComparison(const Clock& clock);
  // Who makes the references' plans from now on; it outlives this.
  void plan_with(placement::PlanMaker& maker);
  void prepare(const placement::Fleet& fleet);

  // A decision that was made; the first since the last comparison is taken.
  void offer(std::uint64_t id, const placement::PodSpec& spec, const std::vector<std::string>& candidates);
  // Once a second, of what may serve: another network to be held to begins its gates anew.
  void look_at(placement::DecisionEngine& engine, const ServingModel::Serving& serving);
  // Drops the decision that waits. `anew`: another ranking is in force, so drops what was compared and which network was judged, too.
  void ranking_changed(bool anew);
  bool due(MonoTime now) const { return waiting_ && now >= after_; }
  // `network`: the one that serves and fits the policy, or null; `turn`: decisions so far. True: the gate's verdict changed.
  bool run(placement::DecisionEngine& engine, ClusterState& state, const ServingModel::Serving& serving,
           const models::QNetwork* network, std::uint64_t turn);
  void judged(std::uint64_t id, const std::string& node, double reward) { off_policy_.judged(id, node, reward); }

  const placement::OffPolicyComparison& off_policy() const { return off_policy_; }
  void restore(std::vector<placement::ComparedDecision> compared) { off_policy_.restore(std::move(compared)); }
  // The file of the network that the gate is about; empty: it came from none, or no network was judged yet.
  std::string network() const { return network_.value_or(""); }
  // The gate was restored, and was about that one.
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
  std::optional<std::string> network_;  // absent: the gate began with the ranking and has judged no network since
  bool gate_restored_ = false;          // and nothing was compared since
};

}  // namespace wattle::controller
