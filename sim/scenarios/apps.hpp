// apps: the applications of a scenario, and their arrival rate.
// Source   thesis: the latency scheduler's tests; drs: one CPU-, one network- and one disk-intensive application, as in
//          the deep reinforcement learning scheduler's experiments; users: one web service; memory: normally
//          distributed memory, as in the Q-learning cluster simulator; mixed: sim/world/workload
// Units    in names
// Errors   none
// Threads  pure functions
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/scenarios/scenario.hpp"
#include "sim/world/workload.hpp"

namespace wattle::sim {

std::vector<AppProfile> profiles_of(const Scenario& scenario, std::uint64_t apps_seed);
WorkloadOptions workload_options(const Scenario& scenario);

// Returns the mean seconds between arrivals for nodes with these cores and bytes in total.
double interval_s(const Scenario& scenario, const std::vector<AppProfile>& profiles, const placement::Resources& fleet);

// An application of several services with requests at a rate, and the autoscaler that sets their replicas.
// Source   the setting of distributed provisioning by reinforcement learning: containers of services under 1,000 to
//          5,000 requests a second; rates are a wave with noise, not the original trace. Replicas follow the rate as
//          with the HorizontalPodAutoscaler: ceil(wanted / target), unchanged within a tenth, down only to the maximum
//          of five minutes, the newest removed first
inline constexpr double kLeastRequests_per_s = 1000, kMostRequests_per_s = 5000;
inline constexpr double kServiceLatency_ms = 4;      // of every node while it is not crowded: one data centre
inline constexpr double kReplicaTarget_cores = 0.6;  // busy share of a replica's single worker

// At the highest rate, the services want load_ratio of all cores. A replica's request is independent of its use.
std::vector<AppProfile> service_profiles(const Scenario& scenario, std::uint64_t seed);

// Zero in the first slot, in which the first replicas start.
std::vector<double> request_rates(std::uint64_t seed);

// Returns replicas in the order of their start. They react to the rate of a slot in the next slot.
std::vector<Replica> scale(std::span<const AppProfile> services, std::span<const double> per_s);

}  // namespace wattle::sim
