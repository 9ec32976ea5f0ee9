// budget_json: what bounds what is saved, as it is now (docs/reference/api.md).
// Units    shares of pods' time; watts for each core that is waited for; times that the latency term counts
// Threads  pure
#pragma once

#include "common/json/value.hpp"
#include "placement/cluster/cluster_model.hpp"

namespace wattle::controller {

// {"cpu_wait": {...}, "late": {...}}. A budget that is not in force has no limit.
SortedJson budgets_json(const placement::ClusterModel& known);

}  // namespace wattle::controller
