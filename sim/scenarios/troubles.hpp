// troubles: draws the faults of a scenario's cluster, from the seed alone.
// latency    twice, evenly spread: the nearest node becomes the farthest and the farthest the nearest
// machines   a quarter of the nodes is gone for 3 to 10 minutes each; the agents of a sixth of the others die for 2 to
//            6
// curves     in mid-run the third of the servers with the fewest watts per core draws 1.8 times as much, the third with
//            the most 0.6 times
// lies       from a quarter of the run on, a tenth of the nodes: frozen, scaled by 0.4, swapped with another, in turn
// Errors     none
// Threads    pure
#pragma once

#include <cstdint>
#include <vector>

#include "sim/scenarios/scenario.hpp"
#include "sim/world/trouble.hpp"

namespace wattle::sim {

inline constexpr double kWasteful = 1.8, kThrifty = 0.6;

FaultPlan draw_troubles(FaultKind kind, const std::vector<NodeSpec>& nodes, double length_s, std::uint64_t seed);

}  // namespace wattle::sim
