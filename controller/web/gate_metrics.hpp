// gate_metrics: exports as metrics the state of each network, the evidence of its gate, the plan's trust and the
// forecasts' scores.
// Format   docs/reference/metrics.md
// Errors   none; an unknown value has no sample
// Threads  single owner
#pragma once

#include "controller/web/metric_families.hpp"
#include "controller/web/sources.hpp"

namespace wattle::controller {

void add_gates(Families& families, const Sources& from);

}  // namespace wattle::controller
