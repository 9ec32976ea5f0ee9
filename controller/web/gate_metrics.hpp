// gate_metrics: who is heard, plan or network, and what was learned or what it began with; and drift, as metrics.
// Format   docs/reference/metrics.md
// Errors   none; what is not known has no sample
// Threads  single owner
#pragma once

#include "controller/decisions/decider.hpp"
#include "controller/web/metric_families.hpp"

namespace wattle::controller {

void add_gates(Families& families, const Decider& decider);

}  // namespace wattle::controller
