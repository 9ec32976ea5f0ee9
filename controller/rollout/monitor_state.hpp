// monitor_state: the state of monitors and gates over a restart, one row each in the control file.
// Format   name and one JSON object; state.md lists the fields. Format 1. Candidates have format 3. From earlier
//          ones, only policy, reward and network are kept, because the ledger needs exposures
// Bounds   a row is no longer than kMaxStateBytes
// Errors   parse: malformed, names the row and the fault
// Threads  values, pure functions
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/result.hpp"
#include "controller/rollout/regression_monitor.hpp"
#include "placement/judge/candidate_trials.hpp"
#include "placement/judge/modelled_saving.hpp"

namespace wattle::controller {

inline constexpr std::string_view kGateRow = "gate", kRegressionRow = "regression", kSavingRow = "saving",
                                  kCandidatesRow = "candidates", kWaitingRow = "waiting", kLateRow = "late";
inline constexpr std::size_t kMaxStateBytes = 4 << 20;

struct MonitorState {
  std::string name, text;
  bool operator==(const MonitorState&) const = default;
};

// State of a gate in the current experiment.
struct GateState {
  std::uint64_t decisions = 0;
  bool nonsense = false;
};
std::string gate_text(const GateState& state);
Result<GateState> parse_gate(std::string_view text);

std::string regression_text(const RegressionMonitor::State& state);
Result<RegressionMonitor::State> parse_regression(std::string_view text);

// Seconds over a budget.
std::string over_budget_text(double over_s);
Result<double> parse_over_budget(std::string_view row, std::string_view text);

// `of`: the ranking whose advice was modelled.
struct SavingState {
  std::string of;
  placement::ModelledState state;
};
std::string saving_text(const SavingState& state);
Result<SavingState> parse_saving(std::string_view text);

// `of`: the ranking whose candidates were measured. `network`: the file that their baseline was loaded from.
struct CandidatesState {
  std::string of, network;
  placement::CandidateTrials::State state;
};
std::string candidates_text(const CandidatesState& kept);
Result<CandidatesState> parse_candidates(std::string_view text);

}  // namespace wattle::controller
