// fleet_json: what the page shows of the whole fleet: sums, the map of nodes, curves over time.
// Source   docs/reference/page.md says what each document has
// Errors   malformed (argument), not_found (no such node or pod)
// Threads  the owner of the sources
#pragma once

#include <map>
#include <string>

#include "common/json/value.hpp"
#include "common/result.hpp"
#include "controller/web/sources.hpp"

namespace wattle::controller {

// How many of the newest hundred decisions each made, as their `decided_by` has it.
SortedJson decided_by_json(const DecisionLog& log);
std::string fleet_text(const Sources& from);
// `names`: of the nodes too, which change seldom.
std::string heat_text(const Sources& from, bool names);
Result<std::string> history_text(const Sources& from, const std::map<std::string, std::string>& arguments);

}  // namespace wattle::controller
