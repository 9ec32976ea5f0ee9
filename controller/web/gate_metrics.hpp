// gate_metrics: exports as metrics the state of each network, the evidence of its gate and the plan's trust.
// Format   docs/reference/metrics.md
// Errors   none; an unknown value has no sample
// Threads  single owner
#pragma once

#include "controller/parts.hpp"
#include "controller/web/metric_families.hpp"

namespace wattle::controller {

void add_gates(Families& families, const Parts& from);

}  // namespace wattle::controller
