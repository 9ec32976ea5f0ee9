// bound: what no placement of a fill can do better than.
// Problem  least sum of watts, as in sim/reference/annealed, with pods that may be cut and spread at will: the linear relaxation. A
//          server's watts are then the lower convex envelope of its curve, asleep at no load included; the cheapest slopes
//          are filled first, which solves it exactly
// Units    watts
// Errors   none; infinity when the servers together have not enough room
// Threads  pure
#pragma once

#include "sim/reference/annealed.hpp"

namespace wattle::sim::consolidation {

double lower_bound_w(const FillProblem& problem);

}  // namespace wattle::sim::consolidation
