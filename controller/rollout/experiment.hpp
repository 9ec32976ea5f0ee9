// experiment: collects the results of a mode with its policy and reward: decisions, rewards, waiting, blocks of a
// canary.
// Rules    every change of the spec in force starts a new experiment, which keeps only control rewards of the same kind
// Restart  rows() and restore(), one row of monitor_state.hpp each; blocks are stored separately
// Units    in names
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
#include "controller/rollout/budget_monitor.hpp"
#include "controller/rollout/canary_measurement.hpp"
#include "controller/rollout/gates.hpp"
#include "controller/rollout/monitor_state.hpp"
#include "controller/rollout/output_check.hpp"
#include "controller/rollout/regression_monitor.hpp"
#include "controller/rollout/rollout_spec.hpp"

namespace wattle::controller {

struct MonitorOptions {
  RegressionOptions regression;
  double max_abs_q = 1e5;  // upper bound of a residual
};

class Experiment {
 public:
  explicit Experiment(const MonitorOptions& options)
      : regression_(options.regression), output_check_(options.max_abs_q) {}
  void restart(bool rewards_of_another_kind);

  // Call for each decision. Returns evidence if the network's output is out of range.
  std::optional<std::string> decided(const ArmNow& arm, double max_abs_residual);
  // Returns true if the output was out of range in this experiment, or in the one that it replaced.
  bool nonsense() const { return output_check_.failed(); }
  void nonsense_found() { output_check_.set_failed(true); }
  // Call for each outcome. Returns an event if placements do worse while acting.
  std::optional<std::string> judged(const ArmNow& arm, double reward);
  // Call about once a second. Returns an event if pods wait or are late beyond their budget while acting.
  std::optional<std::string> measured(const ArmNow& arm, const BudgetsNow& budgets, MonoTime now);
  // Call about once a second. Returns a block of a canary when it ends.
  std::optional<BlockResult> watch(const RolloutSpec& spec, const ClusterNow& now, MonoTime at, WallTime wall) {
    return measurement_.watch(spec, now, at, wall);
  }

  std::uint64_t decisions() const { return decisions_; }
  const RegressionMonitor& regression() const { return regression_; }
  const std::vector<BlockResult>& blocks() const { return measurement_.blocks(); }
  EffectEstimate effect(const SwitchbackSchedule& schedule) const { return measurement_.effect(schedule); }
  GateEvidence evidence(const SwitchbackSchedule& schedule) const {
    return {decisions_, output_check_.failed(), effect(schedule), budgets_};
  }

  std::vector<MonitorState> rows() const;
  // Returns false if the experiment has no row of that name. A valid row that does not fit is discarded, and the
  // callback is called.
  Result<bool> restore(const MonitorState& row, const std::function<void(const char* what)>& again);
  void restore(std::vector<BlockResult> blocks) { measurement_.restore(std::move(blocks)); }

 private:
  std::uint64_t decisions_ = 0;
  RegressionMonitor regression_;
  BudgetMonitor waiting_, late_;
  BudgetsNow budgets_;
  std::optional<MonoTime> measured_at_;
  OutputCheck output_check_;
  CanaryMeasurement measurement_;
};

}  // namespace wattle::controller
