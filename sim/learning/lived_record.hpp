// lived_record: simulated days as a controller would have recorded them, for what learns from records to be judged in a world whose truth is
// known.
// Known    what a controller has: the curves that were told or fitted by the end, requests, hours of use, and the joules that nodes really drew
// Days     one after another, each with pods of its own; what runs when one ends, ends
// Format   docs/reference/improve.md, names of nodes and applications made up
// Threads  pure: the same days give the same bytes
#pragma once

#include <span>
#include <string>

#include "sim/scenarios/consolidation.hpp"

namespace wattle::sim::consolidation {

// Lived by the planner.
std::string lived_record(std::span<const Episode> days);

}  // namespace wattle::sim::consolidation
