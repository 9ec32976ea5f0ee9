// optimal_allocation: how many of n like pods each server gets so that the watts are least, and in which blocks a server is best filled.
// Method   optimal_allocation: dynamic programming over servers; where that is too much work, servers whose count a Lagrange multiplier
//          settles keep it, and the programme runs over those nearest to the margin
//          blocks: the lower convex envelope of cost over count; each of its segments is a block that is worth filling at
//          once, and blocks come in order of falling merit
// Units    cost[i][c]: watts of server i with c pods; every row has at least the entry 0 and is finite
// Errors   none; more pods than there is room for fill everything
// Threads  pure functions
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace wattle::placement {

using CostTable = std::vector<std::vector<double>>;

// Counts whose sum is min(n, room). Exact while servers x pods x room of one is at most `max_cells`.
std::vector<std::size_t> optimal_allocation(const CostTable& cost, std::size_t n, std::size_t max_cells);

struct FillBlock {
  std::size_t from = 0, to = 0;  // counts
  double slope_w = 0;            // watts per pod over the block
};
// From `from` to the end of the row, slopes rising.
std::vector<FillBlock> fill_blocks(std::span<const double> cost, std::size_t from = 0);

}  // namespace wattle::placement
