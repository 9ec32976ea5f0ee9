// network_monitors: compares, outside of the answers, what network, baseline and planner would choose for recent
// decisions, and measures how far rewards deviate from predictions.
// Cost     at most one compared decision a second and one part in kPartOfTime of the time; asks wait meanwhile
// Gives    placements on copies of the cluster for the engine's gates, and an event when a gate changes its verdict
// Restart  rows() and restore(), of monitor_state.hpp; the gates of another policy or reward start from scratch
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
#include "controller/decisions/prediction_error.hpp"
#include "controller/rollout/monitor_event.hpp"
#include "controller/rollout/monitor_state.hpp"
#include "controller/state/cluster_state.hpp"
#include "controller/trainer/serving_model.hpp"
#include "placement/decide/decision_engine.hpp"

namespace wattle::controller {

class NetworkMonitors {
 public:
  static constexpr std::int64_t kPartOfTime = 500;
  // Both outlive it.
  NetworkMonitors(placement::DecisionEngine& engine, const Clock& clock);
  void on_event(std::function<void(const MonitorEvent&)> report) { report_ = std::move(report); }

  // Call before another reward is in force: errors of earlier predictions no longer apply.
  void reward_changes() { prediction_error_.clear(); }
  // Call after policy, reward or mode changed: drops the waiting decision and, for another ranking, the judged network.
  void changed(bool of_another_ranking);

  // Offers a decision; the first since the last comparison is taken.
  void offer(const placement::PodSpec& spec, const std::vector<std::string>& candidates);
  // Adds a decision's outcome, with the expected reward if there was one.
  void judged(const std::string& node, double reward, const std::optional<double>& expected);

  // Call about every second with the networks that may serve; another baseline restarts its gates. Returns true if a
  // gate's verdict changed.
  bool look_at(const ServingModel::Serving& serving);
  // Compares the choices for the offered decision; call when that is due. `network`: the one in use if it fits the
  // policy, or null. Returns true if a gate's verdict changed.
  bool compare(ClusterState& state, const ServingModel::Serving& serving, const models::QNetwork* network);
  bool due(MonoTime now) const { return waiting_ && now >= after_; }

  // Standard deviation of the predictions for the node.
  std::optional<double> uncertainty(const std::string& node) const { return prediction_error_.of(node); }

  // `of`: policy and reward in force.
  std::vector<MonitorState> rows(const std::string& of) const;
  // Returns true if a gate's verdict changed; ignores unknown names.
  Result<bool> restore(const MonitorState& row, const std::string& of);

 private:
  struct Made {
    placement::PodSpec spec;
    std::vector<std::string> candidates;
  };
  std::string saving_of(const std::string& ranking) const;
  NetworkGateState::Recent kept(const placement::RecentBlocks& recent, bool of_learned) const;
  placement::RecentBlocks recalled(const NetworkGateState::Recent& kept) const;

  placement::DecisionEngine& engine_;
  const Clock& clock_;
  std::function<void(const MonitorEvent&)> report_;
  PredictionError prediction_error_;
  std::optional<Made> waiting_;
  MonoTime after_{};
  std::optional<std::string> network_;  // file of the judged network; unset: none was judged since the ranking began
  bool gate_restored_ = false;          // true until the next look
};

}  // namespace wattle::controller
