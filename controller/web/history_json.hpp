// history_json: builds the document `history`: values of the fleet, a node or a pod over time, and marks of events.
// Source   docs/reference/api.md describes the document
// Cost     the fleet: at most FleetHistory::kMostPoints points, 40 bytes each at most, in steps
// Errors   malformed (argument), not_found (no such node or pod)
// Threads  the owner of the parts
#pragma once

#include "controller/parts.hpp"
#include "controller/steps.hpp"
#include "controller/web/arguments.hpp"

namespace wattle::controller {

Document history_text(const Parts& from, const Arguments& arguments);

}  // namespace wattle::controller
