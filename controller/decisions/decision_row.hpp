// decision_row: a decision as the store keeps it, and back.
// Format   body: a wire Decision (docs/reference/wire.md) whose candidates are the kKeptCandidates best and the one it is placed on;
//          rest: a JSON object with what the record does not say (docs/reference/store.md). Features are not kept
// Errors   parse: malformed; whatever the bytes, nothing else happens
// Threads  any
#pragma once

#include "controller/decisions/decision_log.hpp"
#include "controller/store/decision_table.hpp"

namespace wattle::controller {

inline constexpr std::size_t kKeptCandidates = 16;

DecisionRow decision_row(const LoggedDecision& entry);
Result<LoggedDecision> parse_decision(const DecisionRow& row);

}  // namespace wattle::controller
