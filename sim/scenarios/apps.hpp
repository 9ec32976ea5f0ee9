// apps: the applications of a scenario, and their arrival rate.
// Source   thesis: the latency scheduler's tests; drs: one CPU-, one network- and one disk-intensive application, as in
//          the deep reinforcement learning scheduler's experiments; users: one web service; memory: normally
//          distributed memory, as in the Q-learning cluster simulator; mixed: sim/world/workload
// Units    in names
// Errors   none
// Threads  pure functions
#pragma once

#include <cstdint>
#include <vector>

#include "sim/scenarios/scenario.hpp"
#include "sim/world/workload.hpp"

namespace wattle::sim {

std::vector<AppProfile> profiles_of(const Scenario& scenario, std::uint64_t apps_seed);
WorkloadOptions workload_options(const Scenario& scenario);

// Returns the mean seconds between arrivals for nodes with that many cores and bytes in total.
double interval_s(const Scenario& scenario, const std::vector<AppProfile>& profiles, const placement::Resources& fleet);

}  // namespace wattle::sim
