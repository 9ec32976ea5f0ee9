// store_metrics: exports the state of the store as metrics.
// Format   docs/reference/metrics.md
// Errors   none; without a store there are no metrics
// Threads  single owner
#pragma once

#include "controller/store/store.hpp"
#include "controller/web/metric_families.hpp"

namespace wattle::controller {

void add_store(Families& families, const Store& store);

}  // namespace wattle::controller
