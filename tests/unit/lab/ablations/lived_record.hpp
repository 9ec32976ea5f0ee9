// lived_record: simulated days in the form of a controller's record, to evaluate learning from records in a world whose
// truth is known.
// Known    the controller's data: the reported curves, requests, hours of usage, and the real energy of nodes
// Days     consecutive, each with pods of its own, which all end with the day
// Format   docs/reference/improve.md, with synthetic names of nodes and applications
// Threads  pure: the same days give the same bytes
#pragma once

#include <span>
#include <string>

#include "sim/scenarios/consolidation.hpp"

namespace wattle::sim::consolidation {

// The planner places the pods. `measured_times`: by node, its real energy relative to its reported curve.
std::string lived_record(std::span<const Episode> days, std::span<const double> measured_times);

}  // namespace wattle::sim::consolidation
