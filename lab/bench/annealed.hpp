// annealed: the placement of a fill's pods with full knowledge. A reference that no rule has access to.
// Problem  least sum of watts over servers, each pod at its true mean demand; an empty server sleeps or idles
// Method   anneal: simulated annealing from a given placement (moves, swaps, and emptying a server); the best known
//          placement, not a proven optimum; tests compare it with the exact one on small fleets
// Units    cores, watts
// Errors   none
// Threads  pure functions; the same seed gives the same placement
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/scenarios/consolidation.hpp"
#include "sim/world/power.hpp"

namespace wattle::sim::consolidation {

struct FillProblem {
  std::vector<ServerModel> servers;
  std::vector<std::size_t> slots;  // number of pods that each server takes
  std::vector<double> demand_cores;
  bool sleep = false;
};
FillProblem fill_problem(const Episode& episode);
using Placement = std::vector<std::size_t>;  // pod -> server

double placement_w(const FillProblem& problem, const Placement& placement);
bool feasible(const FillProblem& problem, const Placement& placement);

Placement anneal(const FillProblem& problem, Placement start, std::size_t moves, std::uint64_t seed);

}  // namespace wattle::sim::consolidation
