// node_metrics: exports the state of each node as metrics.
// Format   docs/reference/metrics.md
// Errors   none; an unknown value has no sample
// Threads  the owner of the parts
#pragma once

#include "controller/parts.hpp"
#include "controller/steps.hpp"
#include "controller/web/metric_families.hpp"

namespace wattle::controller {

// `families` outlives the work.
Steps add_nodes(Families& families, const Parts& from);

}  // namespace wattle::controller
