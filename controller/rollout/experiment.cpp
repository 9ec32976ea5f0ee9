#include "controller/rollout/experiment.hpp"

namespace wattle::controller {

void Experiment::restart(bool rewards_of_another_kind) {
  decisions_ = 0;
  regression_.restart(rewards_of_another_kind);
  waiting_.restart();
  late_.restart();
  output_check_.set_failed(false);
  measurement_.restart();
}

std::optional<std::string> Experiment::decided(const ArmNow& arm, double max_abs_residual) {
  ++decisions_;
  if (arm.measured) measurement_.count_decision();
  return output_check_.judge(max_abs_residual);
}

std::optional<std::string> Experiment::judged(const ArmNow& arm, double reward) {
  if (!arm.measured) return std::nullopt;
  if (!acts(arm.arm)) {
    regression_.control(reward);
    return std::nullopt;
  }
  if (!regression_.acting(reward)) return std::nullopt;
  return "rewards of treated placements are worse than those of control placements";
}

std::optional<std::string> Experiment::measured(const ArmNow& arm, const BudgetsNow& budgets, MonoTime now) {
  budgets_ = budgets;
  const double passed_s = measured_at_ ? seconds(now - *measured_at_) : 0;
  measured_at_ = now;
  if (!acts(arm.arm)) return std::nullopt;
  const bool waited = budgets.waiting && waiting_.acting(*budgets.waiting, passed_s);
  const bool late = budgets.late && late_.acting(*budgets.late, passed_s);
  if (waited) return waiting_words(budgets.waiting->recent, budgets.waiting->limit);
  if (late) return late_words(budgets.late->recent, budgets.late->limit);
  return std::nullopt;
}

std::vector<MonitorState> Experiment::rows() const {
  return {{std::string(kGateRow), gate_text({decisions_, output_check_.failed()})},
          {std::string(kRegressionRow), regression_text(regression_.state())},
          {std::string(kWaitingRow), over_budget_text(waiting_.over_s())},
          {std::string(kLateRow), over_budget_text(late_.over_s())}};
}

Result<bool> Experiment::restore(const MonitorState& row, const std::function<void(const char* what)>& again) {
  if (row.name == kGateRow) {
    WATTLE_TRY(const GateState state, parse_gate(row.text));
    decisions_ = state.decisions;
    output_check_.set_failed(state.nonsense);
  } else if (row.name == kRegressionRow) {
    WATTLE_TRY(const auto state, parse_regression(row.text));
    if (!regression_.restore(state)) again("the configured number of rewards or the limit has decreased");
  } else if (row.name == kWaitingRow || row.name == kLateRow) {
    WATTLE_TRY(const double over_s, parse_over_budget(row.name, row.text));
    (row.name == kLateRow ? late_ : waiting_).restore(over_s);
  } else {
    return false;
  }
  return true;
}

}  // namespace wattle::controller
