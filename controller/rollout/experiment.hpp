// experiment: what a mode with its policy and reward has shown since it is in force: decisions, rewards, waiting, blocks of a canary.
// Rules    whatever changes what is in force begins another experiment; of another, only control rewards of the same kind still say something
// Restart  rows() and restore(), one row each of monitor_state.hpp; blocks beside them
// Units    in names
// Errors   restore: those of the rows
// Threads  single owner
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/clock.hpp"
#include "controller/rollout/budget_monitor.hpp"
#include "controller/rollout/canary_measurement.hpp"
#include "controller/rollout/gates.hpp"
#include "controller/rollout/monitor_event.hpp"
#include "controller/rollout/monitor_state.hpp"
#include "controller/rollout/output_check.hpp"
#include "controller/rollout/regression_monitor.hpp"
#include "controller/rollout/rollout_spec.hpp"

namespace wattle::controller {

struct MonitorOptions {
  RegressionOptions regression;
  double max_abs_q = 1e5;  // beyond it no residual may be
};

class Experiment {
 public:
  explicit Experiment(const MonitorOptions& options)
      : regression_(options.regression), output_check_(options.max_abs_q) {}
  void begin_anew(bool rewards_of_another_kind);

  // Each decision: evidence that the network says what it may not.
  std::optional<std::string> decided(const ArmNow& arm, double max_abs_residual);
  // Whether it has said so in this experiment, or in the one that its saying so ended.
  bool nonsense() const { return output_check_.failed(); }
  void nonsense_found() { output_check_.set_failed(true); }
  // Each outcome. An event: while acting, placements do worse.
  std::optional<MonitorEvent> judged(const ArmNow& arm, double reward);
  // About once a second. An event: while acting, pods wait or are late beyond their budget.
  std::optional<MonitorEvent> measured(const ArmNow& arm, const BudgetsNow& budgets, MonoTime now);
  // Likewise; the block of a canary that is over.
  std::optional<BlockResult> watch(const RolloutSpec& spec, const ClusterNow& now, MonoTime at, WallTime wall) {
    return measurement_.watch(spec, now, at, wall);
  }

  std::uint64_t decisions() const { return decisions_; }
  const RegressionMonitor& regression() const { return regression_; }
  const std::vector<BlockResult>& blocks() const { return measurement_.blocks(); }
  EffectEstimate effect(const SwitchbackSchedule& schedule) const { return measurement_.effect(schedule); }
  GateEvidence evidence(const SwitchbackSchedule& schedule, const std::function<std::string()>& harm) const {
    return {decisions_, output_check_.failed(), effect(schedule), budgets_, harm};
  }

  std::vector<MonitorState> rows() const;
  // False: this experiment keeps no row of that name. A row that is sound and does not fit begins anew, which `anew` hears.
  Result<bool> restore(const MonitorState& row, const std::function<void(const char* what)>& anew);
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
