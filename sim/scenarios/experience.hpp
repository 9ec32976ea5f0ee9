// experience: worlds, composed of parts, in which a controller has to learn what its models do not know. Each part
// gives the controller only what a real cluster would.
// Crowding     applications use what they request or more (Options::crowded); a node's pods wait for each other above a
//              share of its cores that depends on the node's kind
// Interference applications use and suffer from shared resources (sim/cluster/pairs). Pressure shows only the waiting
//              for disk; lifetimes show the other slowdowns
// Rack meter   one meter for all nodes. An agent estimates its node's watts from a datasheet, which is wrong for half
//              of the nodes; the estimates are scaled so that they add up to the meter
// Wave         over a day, the rate of arrivals rises and falls, and so does the latency of each node, with an
//              individual phase; every second application has a soft limit on latency
// Draws        from the seed of the cluster, the same on every day
// Units        in names; seconds from the start of the run
// Errors       experience_named: not_found, with the names
// Threads      values, pure functions
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "common/result.hpp"
#include "sim/cluster/pairs.hpp"
#include "sim/world/trouble.hpp"

namespace wattle::sim::consolidation {

struct Experience {
  bool crowding = false, interference = false, rack_meter = false, wave = false;
};
// "plain", "crowded", "interference", "wrong-data", "wave" or "combined".
Result<Experience> experience_named(std::string_view name);

// Wanted share of each node's cores above which its pods wait.
std::vector<double> waiting_starts(std::size_t nodes, std::uint64_t seed);
// Adds the use of shared resources to the pairs of this number of applications.
void share_resources(cluster::Pairs& pairs, std::size_t apps, std::uint64_t seed);
// Watts of the nodes' datasheets divided by their real ones.
std::vector<double> datasheet_times(std::size_t nodes, std::uint64_t seed);

inline constexpr double kWave_s = 86'400;
// Rate of arrivals at that time divided by its mean.
double arrivals_at(double at_s);
// Latency of a node at that time.
double latency_ms_at(std::size_t node, double at_s, std::uint64_t seed);
// All changes of the nodes' latencies up to that time.
std::vector<LatencyShift> latency_wave(std::size_t nodes, double until_s, std::uint64_t seed);
struct LatencyLimits {
  double soft_ms = 0, hard_ms = 0;
};
std::optional<LatencyLimits> latency_limits_of(std::size_t app);

}  // namespace wattle::sim::consolidation
