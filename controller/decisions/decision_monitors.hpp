// decision_monitors: what is found by watching decisions and what became of them: drift, how far predictions were off, and what other
// rankings would have chosen.
// Gives    an event of each finding, news for learning, more exploration for a while after a shift
// Restart  rows() and restore(), of monitor_state.hpp; of another policy or reward, network gate and comparison begin anew
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
#include "placement/decision_engine.hpp"

namespace wattle::controller {

class DecisionMonitors {
 public:
  // All of these outlive it.
  DecisionMonitors(placement::DecisionEngine& engine, const Clock& clock,
                   const std::function<void(LearningNews)>& learn);
  void on_event(std::function<void(const MonitorEvent&)> told) { told_ = std::move(told); }
  // Who makes the references' plans from now on; it outlives this.
  void plan_with(placement::PlanMaker& maker) { comparison_.plan_with(maker); }

  // Before another reward is in force, and after policy, reward or mode changed.
  void reward_changes();
  void changed(bool of_another_ranking);

  // A decision that was made; the first since the last comparison is taken.
  void offer(std::uint64_t id, const placement::PodSpec& spec, const std::vector<std::string>& candidates) {
    comparison_.offer(id, spec, candidates);
  }
  // What became of one, and what was expected of it if anything was.
  void judged(std::uint64_t id, const std::string& node, double reward, const std::optional<double>& expected);

  // Every `passed`, about a second.
  void watch_curves(const placement::ClusterView& view, Duration passed);
  // Likewise, with the fleet as it is known by now. `network`: the one that is asked, or null. True: a gate's verdict changed.
  bool compare(const placement::Fleet& fleet, const ServingModel::Serving& serving, const models::QNetwork* network);
  // If it is time to: what other rankings would have chosen for the decision that was offered. `turn`: decisions so far.
  bool compare_rankings(ClusterState& state, const ServingModel::Serving& serving, const models::QNetwork* network,
                        std::uint64_t turn);
  bool due(MonoTime now) const { return comparison_.due(now); }

  // Standard deviation of what was predicted of the node.
  std::optional<double> uncertainty(const std::string& node) const { return prediction_error_.of(node); }
  double epsilon(double usual) const { return drift_.epsilon(usual, clock_.mono()); }
  bool drifting() const { return drift_.active(clock_.mono()); }
  std::uint64_t drifts() const { return drift_.shifts(); }
  const placement::OffPolicyComparison& off_policy() const { return comparison_.off_policy(); }

  // `of`: policy and reward that are in force.
  std::vector<MonitorState> rows(const std::string& of) const;
  // True: a gate's verdict is another now. A name that is kept by nobody is not looked at.
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
