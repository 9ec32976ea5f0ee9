// gate_metrics: exports as metrics which side serves (plan or network, candidate or baseline).
// Format   docs/reference/metrics.md
// Errors   none; an unknown value has no sample
// Threads  single owner
#pragma once

#include "controller/decisions/decider.hpp"
#include "controller/web/metric_families.hpp"

namespace wattle::controller {

void add_gates(Families& families, const Decider& decider);

}  // namespace wattle::controller
