// decision_monitors: watches decisions and their outcomes for drift, prediction errors, and the choices of other
// rankings.
// Gives    an event for each finding, news for learning, more exploration for a while after a shift
// Restart  rows() and restore(), of monitor_state.hpp; network gate and comparison of another policy or reward start
//          from scratch
// Errors   restore: those of the rows
// Threads  single owner
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/clock.hpp"
#include "controller/decisions/news.hpp"
#include "controller/decisions/prediction_error.hpp"
#include "controller/decisions/ranking_comparison.hpp"
#include "controller/rollout/drift_monitor.hpp"
#include "controller/rollout/monitor_event.hpp"
#include "controller/rollout/monitor_state.hpp"
#include "controller/state/cluster_state.hpp"
#include "controller/trainer/serving_model.hpp"
#include "placement/decide/decision_engine.hpp"

namespace wattle::controller {

class DecisionMonitors {
 public:
  // All of these outlive it.
  DecisionMonitors(placement::DecisionEngine& engine, const Clock& clock,
                   const std::function<void(LearningNews)>& learn);
  void on_event(std::function<void(const MonitorEvent&)> told) { told_ = std::move(told); }
  // Sets the maker of the references' plans, which must outlive the monitors.
  void plan_with(placement::PlanMaker& maker) { comparison_.plan_with(maker); }

  // Call reward_changes() before another reward is in force, and changed() after policy, reward or mode changed.
  void reward_changes();
  void changed(bool of_another_ranking);

  // Offers a decision; the first since the last comparison is taken.
  void offer(std::uint64_t id, const placement::PodSpec& spec, const std::vector<std::string>& candidates) {
    comparison_.offer(id, spec, candidates);
  }
  // Adds a decision's outcome, with the expected reward if there was one.
  void judged(std::uint64_t id, const std::string& node, double reward, const std::optional<double>& expected);

  // Call about every second; `passed` is the time since the last call.
  void watch_curves(const placement::ClusterView& view, Duration passed);
  // Call about every second with the current fleet. `network`: the one in use, or null. Returns true if a gate's
  // verdict changed.
  bool compare(const placement::Fleet& fleet, const ServingModel::Serving& serving, const models::QNetwork* network);
  // Compares the choices of other rankings for the offered decision when that is due. `turn`: decisions so far.
  bool compare_rankings(ClusterState& state, const ServingModel::Serving& serving, const models::QNetwork* network,
                        std::uint64_t turn);
  bool due(MonoTime now) const { return comparison_.due(now); }

  // Standard deviation of the predictions for the node.
  std::optional<double> uncertainty(const std::string& node) const { return prediction_error_.of(node); }
  double epsilon(double usual) const { return drift_.epsilon(usual, clock_.mono()); }
  bool drifting() const { return drift_.active(clock_.mono()); }
  std::uint64_t drifts() const { return drift_.shifts(); }
  const placement::OffPolicyComparison& off_policy() const { return comparison_.off_policy(); }

  // `of`: policy and reward in force.
  std::vector<MonitorState> rows(const std::string& of) const;
  // Returns true if a gate's verdict changed; ignores unknown names.
  Result<bool> restore(const MonitorState& row, const std::string& of);

 private:
  void tell(MonitorEvent event) const;
  NetworkGateState::Recent kept(const placement::RecentBlocks& recent, bool of_learned) const;
  placement::RecentBlocks recalled(const NetworkGateState::Recent& kept) const;
  void shifted(const std::optional<std::string>& evidence, MonoTime now);

  placement::DecisionEngine& engine_;
  const Clock& clock_;
  const std::function<void(LearningNews)>& learn_;
  std::function<void(const MonitorEvent&)> told_;
  RankingComparison comparison_;
  bool compared_told_ = false;  // to the learner, last
  DriftMonitor drift_;
  PredictionError prediction_error_;
};

}  // namespace wattle::controller
