// decision_json: decisions as the objects of docs/reference/api.md.
// Threads  pure functions
#pragma once

#include <nlohmann/json.hpp>

#include "controller/decisions/decision_log.hpp"

namespace wattle::controller {

nlohmann::json decision_json(const LoggedDecision& entry);
// With its candidates, and why the winner won.
nlohmann::json explained_json(const LoggedDecision& entry);

}  // namespace wattle::controller
