// network_monitors: measures how far rewards deviate from predictions, and keeps the evidence about candidates over a
// restart; drops it when another network is loaded.
// Restart  rows() and restore(), of monitor_state.hpp; the evidence of another policy or reward does not apply
// Errors   restore: those of the rows
// Threads  single owner
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/decisions/prediction_error.hpp"
#include "controller/rollout/monitor_state.hpp"
#include "controller/trainer/serving_model.hpp"
#include "placement/decide/decision_engine.hpp"

namespace wattle::controller {

class NetworkMonitors {
 public:
  // The engine must outlive this object.
  explicit NetworkMonitors(placement::DecisionEngine& engine) : engine_(engine) {}

  // Call before another reward is in force: errors of earlier predictions no longer apply.
  void reward_changes() { prediction_error_.clear(); }
  // Call after policy or reward changed.
  void ranking_changed();

  // Adds a decision's outcome, with the expected reward if there was one.
  void judged(const std::string& node, double reward, const std::optional<double>& expected);

  // Call about every second with the networks that may serve; another baseline drops the evidence about networks.
  // Returns true if the serving candidate changed.
  bool look_at(const ServingModel::Serving& serving);

  // Standard deviation of the predictions for the node.
  std::optional<double> uncertainty(const std::string& node) const { return prediction_error_.of(node); }

  // `of`: policy and reward in force.
  std::vector<MonitorState> rows(const std::string& of) const;
  // Ignores unknown names.
  Status restore(const MonitorState& row, const std::string& of);

 private:
  std::string saving_of(const std::string& ranking) const;

  placement::DecisionEngine& engine_;
  PredictionError prediction_error_;
  std::optional<std::string> network_;  // file of the baseline; unset: none was seen since the ranking changed
  bool restored_ = false;               // true until the next look
};

}  // namespace wattle::controller
