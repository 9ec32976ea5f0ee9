// decision_row: converts a decision to the row of the store, and back.
// Format   body: a wire Decision (common/wire/messages.md), kKeptCandidates best candidates and the chosen one;
//          rest: a JSON object with the fields that the record does not have (docs/reference/files.md). Features are
//          not stored
// Errors   parse: malformed, for any invalid bytes
// Threads  any
#pragma once

#include "controller/decisions/decision_log.hpp"
#include "controller/store/decision_table.hpp"

namespace wattle::controller {

inline constexpr std::size_t kKeptCandidates = 16;

DecisionRow decision_row(const LoggedDecision& entry);
Result<LoggedDecision> parse_decision(const DecisionRow& row);

}  // namespace wattle::controller
