// decision_json: converts decisions to the objects of docs/reference/api.md.
// Threads  pure functions
#pragma once

#include "common/json/value.hpp"
#include "controller/decisions/decision_log.hpp"

namespace wattle::controller {

SortedJson decision_json(const LoggedDecision& entry);
// Includes the candidates and the reason for the choice.
SortedJson explained_json(const LoggedDecision& entry);

}  // namespace wattle::controller
