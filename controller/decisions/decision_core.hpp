// decision_core: what asks, placements and outcomes share: the engine, the network in use, the spec in force, the log.
// Shadow   advice is reserved on a copy of the cluster (placement/judge/shadow_cluster), which later decisions use.
//          Learning uses the real cluster and what was expected of the placement there
// Threads  single owner
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/clock.hpp"
#include "controller/config.hpp"
#include "controller/decisions/contender.hpp"
#include "controller/decisions/decider_figures.hpp"
#include "controller/decisions/decision_log.hpp"
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
  NetworkMonitors& monitors() { return monitors_; }
  OpenDecisions& open() { return open_; }
  std::mt19937_64& random() { return random_; }
  DecisionLog& log() { return log_; }
  const DecisionLog& log() const { return log_; }
  DeciderFigures& figures() { return figures_; }
  const DeciderFigures& figures() const { return figures_; }
  void learn(LearningNews news) { learn_(std::move(news)); }
  std::uint64_t next_id() { return next_id_++; }
  std::uint64_t last_id() const { return next_id_ - 1; }
  // Notes that the decision was added or extended.
  void changed(std::uint64_t id) { changed_.insert(id); }
  // Takes the ids of decisions added or extended since the last call.
  std::set<std::uint64_t> take_changed() { return std::exchange(changed_, {}); }

  // Applies mode, policy and reward from the next decision on; the policy must exist.
  void take(const RolloutSpec& spec);
  std::uint64_t takes() const { return takes_; }
  const RolloutSpec& spec() const { return spec_; }
  // Sets the maker of the policies' plans; it must outlive the decider. Without one, asks wait for plans.
  void plan_with(placement::PlanMaker& maker);
  // The arm that applies now, which determines whether advice may be acted upon.
  ArmNow arm() const { return arm_at(spec_, clock_.wall()); }
  const std::string& policy() const { return spec_.policy; }
  const placement::PolicyInfo& policy_info() const { return engine_.policy(); }
  // Changes when earlier answers are no answers any more: with the spec, or another candidate.
  std::uint64_t edition() const { return edition_; }
  bool measured() const { return engine_.measured(); }
  const placement::CandidateTrials& trials() const { return engine_.trials(); }
  // The network that serves the policy at present, or null; another candidate may serve instead (see below).
  struct InUse {
    ServingModel::Network network;
    ModelVersion version;
    bool learned = false;  // learned here, unlike the initial network
  };
  InUse in_use() const;
  // States of the network that learning began with and of the one learned on this cluster; no value: there is none.
  struct NetworkStates {
    std::optional<stats::NetworkState> baseline, learned;
  };
  NetworkStates network_states() const;
  // The policy or network that serves, followed by those that might, with their measured differences; empty if no
  // network is consulted.
  std::vector<Contender> contenders() const;
  // Returns whether the network is gated, and why; the reason is empty if it is not gated.
  bool network_gated() const { return engine_.gated(); }
  const std::string& network_gated_why() const { return engine_.gated_why(); }
  // Saves and restores monitors over a restart. State of another policy or reward is ignored. restore() ignores unknown
  // names.
  std::vector<MonitorState> monitor_states() const;
  Status restore(const MonitorState& state);
  // Exploration of decisions made now: zero while the network is excluded.
  double epsilon() const;
  const placement::ClusterModel& cluster_model() const { return engine_.cluster_model(); }
  // Energy compared in the canary's control block; no value if no canary runs.
  std::optional<placement::ComparedEnergy> compared() const { return engine_.shadow().compared(); }
  // Modelled saving of acting on the advice; null in mode off.
  const placement::ModelledSaving* saving() const { return engine_.shadow().saving(); }
  // Modelled power under the default scheduler over that of the cluster; no value while Wattle does not act.
  std::optional<double> default_power_ratio() const { return engine_.shadow().default_power_ratio(); }
  std::string save_cluster_model() { return engine_.cluster_model().save(state_.view({}, clock_.mono())); }
  const placement::DecideOptions& options() const { return engine_.options(); }

  // Plays advice forward in a control block, as in shadow, so that the modelled saving covers what the canary measures.
  void follow_block();
  // If shadow's copy of the cluster differs from the cluster: replaces `advice` by the one to give and returns the
  // decision to learn from.
  std::optional<OpenDecision> go_by_copy(placement::PlacementDecision& advice, const placement::ClusterView& view,
                                         const placement::PodSpec& spec, const models::QNetwork* network,
                                         double epsilon, std::span<const std::size_t> rows,
                                         const placement::Ahead& ahead);
  // Updates the cluster model, plans and comparisons when they are due.
  void refresh(MonoTime now);
  // Remembers what shadow advised before a restart, until the pod asks again.
  void recall_advice(const wire::Decision& decision);
  void forget_advice(const std::string& pod_uid) { recalled_.erase(pod_uid); }

 private:
  // The networks that exist and fit the policy.
  struct Present {
    bool baseline = false, learned = false;  // learned: it differs from the baseline
  };
  Present present() const;
  std::vector<Contender> measured_contenders() const;
  // Offers the networks that exist for a trial.
  void offer_networks();
  // Restores the reservations of shadow's advice from before a restart, for running pods whose nodes are known.
  void follow_recalled(MonoTime now);
  // True if the network belongs to the policy and was trained for the reward preset; after a change the trainer
  // replaces it.
  bool fits(const ServingModel::Network& network, const ModelVersion& version) const {
    const bool judged_so = version.preset.empty() || version.preset == placement::to_string(spec_.reward.preset);
    return network != nullptr && judged_so && config_.learn.tabular == (spec_.policy == "tabular-q");
  }

  const ControllerConfig& config_;
  ClusterState& state_;
  const ServingModel& networks_;
  const Clock& clock_;
  std::function<void(LearningNews)> learn_;
  std::mt19937_64 random_;
  placement::DecisionEngine engine_;
  MonoTime refreshed_{};
  NetworkMonitors monitors_;
  RolloutSpec spec_;
  DecisionLog log_;
  DeciderFigures figures_;
  std::uint64_t next_id_, takes_ = 0, edition_ = 0;
  OpenDecisions open_;
  std::set<std::uint64_t> changed_;
  std::map<std::string, std::string>
      recalled_;  // pod UID -> where shadow advised it before a restart; as many as the log has
};

}  // namespace wattle::controller
