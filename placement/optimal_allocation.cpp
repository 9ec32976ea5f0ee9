#include "placement/optimal_allocation.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

namespace wattle::placement {

namespace {

std::size_t room(const std::vector<double>& row) { return row.size() - 1; }

std::vector<std::size_t> exact(const CostTable& cost, std::span<const std::size_t> nodes, std::size_t n) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  std::vector<double> least_w(n + 1, kNever), next_w(n + 1);
  least_w[0] = 0;
  std::vector<std::uint32_t> taken(nodes.size() * (n + 1), 0);
  std::size_t reach = 0;  // pods that the servers so far can hold
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    const std::vector<double>& row = cost[nodes[k]];
    const std::size_t reached = reach;
    reach = std::min(n, reach + room(row));
    std::fill(next_w.begin(), next_w.end(), kNever);
    for (std::size_t c = 0; c <= std::min(room(row), n); ++c) {
      const std::size_t last = std::min(reached, n - c);
      for (std::size_t before = 0; before <= last; ++before) {
        const double here_w = least_w[before] + row[c];
        if (here_w < next_w[before + c]) {
          next_w[before + c] = here_w;
          taken[k * (n + 1) + before + c] = static_cast<std::uint32_t>(c);
        }
      }
    }
    std::swap(least_w, next_w);
  }
  std::vector<std::size_t> counts(nodes.size());
  std::size_t left = n;
  for (std::size_t k = nodes.size(); k-- > 0;) {
    counts[k] = taken[k * (n + 1) + left];
    left -= counts[k];
  }
  return counts;
}

}  // namespace

std::vector<FillBlock> fill_blocks(std::span<const double> cost, std::size_t from) {
  std::vector<FillBlock> blocks;
  for (std::size_t c = from + 1; c < cost.size(); ++c) {
    FillBlock block{c - 1, c, cost[c] - cost[c - 1]};
    while (!blocks.empty() && block.slope_w <= blocks.back().slope_w) {
      block.from = blocks.back().from;
      block.slope_w = (cost[c] - cost[block.from]) / static_cast<double>(c - block.from);
      blocks.pop_back();
    }
    blocks.push_back(block);
  }
  return blocks;
}

std::vector<std::size_t> optimal_allocation(const CostTable& cost, std::size_t n, std::size_t max_cells) {
  std::size_t total = 0, widest = 0;
  for (const auto& row : cost) {
    total += room(row);
    widest = std::max(widest, room(row));
  }
  n = std::min(n, total);
  std::vector<std::size_t> all(cost.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  if (cost.size() * n * std::max<std::size_t>(widest, 1) <= max_cells) return exact(cost, all, n);

  // Blocks by slope until all pods have a place: every server is then where one multiplier puts it, but the last.
  struct Candidate {
    double slope_w;
    std::size_t node, from, to;
  };
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < cost.size(); ++i)
    for (const FillBlock& block : fill_blocks(cost[i])) candidates.push_back({block.slope_w, i, block.from, block.to});
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.slope_w < b.slope_w; });
  std::vector<std::size_t> counts(cost.size(), 0);
  std::size_t left = n;
  double margin_w = 0;
  for (const Candidate& each : candidates) {
    if (left == 0) break;
    const std::size_t take = std::min(left, each.to - each.from);
    counts[each.node] += take;
    left -= take;
    margin_w = each.slope_w;
  }
  // The programme decides anew over the servers with a block nearest to the margin.
  std::vector<double> distance_w(cost.size(), std::numeric_limits<double>::infinity());
  for (const Candidate& each : candidates)
    distance_w[each.node] = std::min(distance_w[each.node], std::abs(each.slope_w - margin_w));
  std::stable_sort(all.begin(), all.end(), [&](std::size_t a, std::size_t b) { return distance_w[a] < distance_w[b]; });
  std::size_t core = 0, pods = 0;
  while (core < all.size()) {
    const std::size_t with = pods + counts[all[core]];
    if ((core + 1) * with * widest > max_cells && core >= 2) break;
    pods = with;
    ++core;
  }
  all.resize(core);
  const std::vector<std::size_t> decided = exact(cost, all, pods);
  for (std::size_t k = 0; k < core; ++k) counts[all[k]] = decided[k];
  return counts;
}

}  // namespace wattle::placement
