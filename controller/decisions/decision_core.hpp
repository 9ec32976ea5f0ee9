// decision_core: the state that asks, placements and outcomes share: the engine, the network in use, the spec in force,
// the log.
// Shadow   advice is reserved on a copy of the cluster (placement/judge/shadow_cluster), which later decisions use.
//          Learning uses the real cluster and the outcome expected there
// Threads  single owner
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/clock.hpp"
#include "controller/config.hpp"
#include "controller/decisions/decider_figures.hpp"
#include "controller/decisions/decision_log.hpp"
#include "controller/decisions/network_choice.hpp"
#include "controller/decisions/network_monitors.hpp"
#include "controller/decisions/news.hpp"
#include "controller/decisions/open_decisions.hpp"
#include "controller/rollout/rollout_spec.hpp"
#include "controller/state/cluster_state.hpp"
#include "controller/trainer/serving_model.hpp"
#include "placement/decide/decision_engine.hpp"

namespace wattle::controller {

class DecisionCore {
 public:
  static constexpr Duration kRefreshEvery = std::chrono::seconds(1);  // of the cluster model, plans and comparisons
  // `cluster_model` was restored from before the restart.
  DecisionCore(const ControllerConfig& config, ClusterState& state, const ServingModel& networks, const Clock& clock,
               std::function<void(LearningNews)> learn, std::uint64_t first_decision_id,
               placement::ClusterModel cluster_model);
  DecisionCore(const DecisionCore&) = delete;
  DecisionCore& operator=(const DecisionCore&) = delete;

  const ControllerConfig& config() const { return config_; }
  placement::DecisionEngine& engine() { return engine_; }
  const placement::DecisionEngine& engine() const { return engine_; }
  const NetworkChoice& networks() const { return networks_; }
  NetworkMonitors& monitors() { return monitors_; }
  OpenDecisions& open() { return open_; }
  std::mt19937_64& random() { return random_; }
  DecisionLog& log() { return log_; }
  const DecisionLog& log() const { return log_; }
  DeciderFigures& figures() { return figures_; }
  const DeciderFigures& figures() const { return figures_; }
  void learn(LearningNews news) { learn_(std::move(news)); }

  // Applies mode, policy and reward to all later decisions; the policy must exist.
  void take(const RolloutSpec& spec);
  std::uint64_t spec_changes() const { return spec_changes_; }
  const RolloutSpec& spec() const { return spec_; }
  // The arm that applies now, which determines whether advice may be acted upon.
  ArmNow arm() const { return arm_at(spec_, clock_.wall()); }
  // Changes when earlier answers are no longer valid: with the spec, or another candidate.
  std::uint64_t edition() const { return edition_; }
  // Saves and restores monitors over a restart. State of another policy or reward is ignored. restore() ignores unknown
  // names.
  std::vector<MonitorState> monitor_states() const;
  Status restore(const MonitorState& state);

  // Accumulates advice in a control block, as in shadow mode, so that the modelled saving covers what the canary
  // measures.
  void update_control_block();
  // If the shadow cluster differs from the real one, replaces `advice` with the advice to give and returns the decision
  // to learn from.
  std::optional<OpenDecision> decide_on_shadow(placement::PlacementDecision& advice, const placement::ClusterView& view,
                                               const placement::PodSpec& spec, const models::QNetwork* network,
                                               double epsilon, std::span<const std::size_t> rows,
                                               const placement::Ahead& ahead);
  // Updates the cluster model, plans and comparisons when they are due.
  void refresh(MonoTime now);
  // Keeps what shadow mode advised before a restart, until the pod is asked for again.
  void recall_advice(const wire::Decision& decision);
  void forget_advice(const std::string& pod_uid) { recalled_.erase(pod_uid); }

 private:
  // Restores the reservations that shadow mode made before a restart, for running pods whose nodes are known.
  void follow_recalled(MonoTime now);

  const ControllerConfig& config_;
  ClusterState& state_;
  const ServingModel& serving_;
  const Clock& clock_;
  std::function<void(LearningNews)> learn_;
  std::mt19937_64 random_;
  placement::DecisionEngine engine_;
  MonoTime refreshed_{};
  RolloutSpec spec_;
  NetworkChoice networks_;
  NetworkMonitors monitors_;
  DecisionLog log_;
  DeciderFigures figures_;
  std::uint64_t spec_changes_ = 0, edition_ = 0;
  OpenDecisions open_;
  std::map<std::string, std::string>
      recalled_;  // pod UID -> node advised in shadow mode before a restart; as many as the log has
};

}  // namespace wattle::controller
