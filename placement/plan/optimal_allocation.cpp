#include "placement/plan/optimal_allocation.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

namespace wattle::placement {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

std::size_t room(const std::vector<double>& row) { return row.size() - 1; }

// Least watts of p pods on the servers so far; `reached` has those of the previous servers. Unreachable counts are
// infinite, as is the padding on both sides. Processes eight counts at once, without branches and without a store per
// option.
typedef double Watts __attribute__((vector_size(16)));
constexpr std::size_t kLanes = 2, kTogether = 4 * kLanes;

Watts watts_at(const double* place) {
  Watts watts;
  std::memcpy(&watts, place, sizeof(watts));
  return watts;
}

Watts lesser(Watts a, Watts b) { return b < a ? b : a; }

void add_server(std::span<const double> row, const double* reached, std::size_t most_reached, std::size_t from,
                std::size_t to, double* out) {
  for (std::size_t p = from; p <= to; p += kTogether) {
    const std::size_t last = std::min(row.size() - 1, p + kTogether - 1);
    Watts a{kNever, kNever}, b = a, c = a, d = a;
    for (std::size_t count = p > most_reached ? p - most_reached : 0; count <= last; ++count) {
      const Watts more{row[count], row[count]};
      const double* before = reached + p - count;
      a = lesser(a, watts_at(before) + more);
      b = lesser(b, watts_at(before + kLanes) + more);
      c = lesser(c, watts_at(before + 2 * kLanes) + more);
      d = lesser(d, watts_at(before + 3 * kLanes) + more);
    }
    const Watts least[] = {a, b, c, d};
    std::memcpy(out + p, least, sizeof(least));
  }
}

std::vector<std::size_t> exact(const CostTable& cost, std::span<const std::size_t> nodes, std::size_t n) {
  std::size_t behind = 0;  // room of the remaining servers
  for (const std::size_t node : nodes) behind += room(cost[node]);
  // A line per number of servers, by pods, with kTogether of padding on both sides.
  const std::size_t width = kTogether + n + 1 + kTogether;
  std::vector<double> least_w((nodes.size() + 1) * width, kNever);
  const auto line = [&](std::size_t k) { return least_w.data() + k * width + kTogether; };
  line(0)[0] = 0;
  std::size_t reach = 0;  // capacity of the servers so far
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    const std::vector<double>& row = cost[nodes[k]];
    const std::size_t reached = reach;
    reach = std::min(n, reach + room(row));
    behind -= room(row);
    add_server(row, line(k), reached, n > behind ? n - behind : 0, reach, line(k + 1));
    std::fill(line(k + 1) + reach + 1, line(k + 1) + n + 1 + kTogether, kNever);
  }
  std::vector<std::size_t> counts(nodes.size());
  std::size_t left = n;
  for (std::size_t k = nodes.size(); k-- > 0;) {
    // Among equal costs, chooses the fewest pods here.
    const std::vector<double>& row = cost[nodes[k]];
    std::size_t& count = counts[k];
    while (count < std::min(room(row), left) && line(k)[left - count] + row[count] != line(k + 1)[left]) ++count;
    left -= count;
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

  // Takes blocks by slope until all pods have a place. One multiplier then determines every server except the last.
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
  // The exact programme decides again for the servers with a block nearest to the margin.
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
