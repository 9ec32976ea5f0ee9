// decision_json: decisions as the objects of docs/reference/api.md.
// Threads  pure functions
#pragma once

#include "common/json/value.hpp"
#include "controller/decisions/decision_log.hpp"

namespace wattle::controller {

SortedJson decision_json(const LoggedDecision& entry);
// With its candidates, and why the winner won.
SortedJson explained_json(const LoggedDecision& entry);

}  // namespace wattle::controller
