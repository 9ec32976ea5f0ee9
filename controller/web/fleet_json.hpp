// fleet_json: builds the page's documents about the whole fleet: sums and the map of nodes.
// Source   docs/reference/api.md and web/README.md describe each document
// Errors   malformed (argument), not_found (no such node or pod)
// Threads  the owner of the parts
#pragma once

#include <optional>
#include <string>

#include "common/json/value.hpp"
#include "common/result.hpp"
#include "controller/decisions/decision_log.hpp"
#include "controller/parts.hpp"
#include "controller/steps.hpp"
#include "controller/tariff.hpp"
#include "controller/web/series.hpp"
#include "controller/web/sleep_levers.hpp"

namespace wattle::controller {

// Counts the newest hundred decisions by their `decided_by`.
SortedJson decided_by_json(const DecisionLog& log);
std::string fleet_text(const Parts& from, const FleetSums& sums);
// Returns the joules that this power uses in a day.
std::optional<double> per_day_j(std::optional<double> power_w);
// The idle energy of a day, and what it would be with sleeping nodes.
SortedJson idle_json(const Tariff& tariff, const FleetSums& sums, const CouldSleep& could);
// `names`: include the nodes' names, which rarely change. `label`: include each node's value of that label.
Document heat_text(const Parts& from, bool names, const std::string& label = {});

}  // namespace wattle::controller
