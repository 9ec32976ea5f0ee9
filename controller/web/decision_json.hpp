// decision_json: converts decisions to the objects of docs/reference/api.md.
// Threads  pure functions
#pragma once

#include "common/json/value.hpp"
#include "controller/decisions/decision_log.hpp"
#include "controller/web/arguments.hpp"

namespace wattle::controller {

// Returns the newest decision about the argument `pod`. Errors: malformed (no argument), not_found.
Result<const LoggedDecision*> newest_decision(const DecisionLog& log, const Arguments& arguments);
SortedJson decision_json(const LoggedDecision& entry);
// Why a pod of this decision runs on `node`: "adds 3.1 W, ranked 1 of 7 nodes". Null if the node was not a candidate.
SortedJson placed_because(const LoggedDecision& entry, const std::string& node);
// Includes the candidates and the reason for the choice.
SortedJson explained_json(const LoggedDecision& entry);

}  // namespace wattle::controller
