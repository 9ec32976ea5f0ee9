// optimal_allocation: distributes n equal pods over servers at least total watts, and finds the blocks in which a
// server is best filled.
// Method   optimal_allocation: dynamic programming over servers. If that is too much work, a Lagrange multiplier fixes
//          the counts of most servers, and the programme covers only those nearest to the margin
//          blocks: the lower convex envelope of cost over count. Each of its segments is a block that is best filled as
//          a whole; blocks are in order of falling merit
// Units    cost[i][c]: watts of server i with c pods; every row has at least the entry 0 and is finite
// Errors   none; if there are more pods than room, every server is full
// Threads  pure functions
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace wattle::placement {

using CostTable = std::vector<std::vector<double>>;

// Returns counts whose sum is min(n, room). Exact while servers x pods x room of one server is at most `max_cells`.
std::vector<std::size_t> optimal_allocation(const CostTable& cost, std::size_t n, std::size_t max_cells);

struct FillBlock {
  std::size_t from = 0, to = 0;  // counts
  double slope_w = 0;            // watts per pod over the block
};
// Returns blocks from `from` to the end of the row, with rising slopes.
std::vector<FillBlock> fill_blocks(std::span<const double> cost, std::size_t from = 0);

}  // namespace wattle::placement
